// Run a PLC server and a Bluesky PDS on loopback, each on a free port. Prints their addresses as one line of JSON when
// they are ready, and exits when standard input closes, so that nothing is left running if the parent is killed.

import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'

import { PDS, readEnv } from '@atproto/pds'

const plc = createRequire(import.meta.url)('@did-plc/server')

// Both would listen on every network interface and have no setting for it.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== 'number') return listen.call(this, port, ...rest)
  const then = rest.filter((each) => typeof each === 'function')
  return listen.call(this, { port, host: '127.0.0.1' }, ...then)
}

async function freePort() {
  const server = net.createServer()
  await new Promise((done) => server.listen(0, done))
  const { port } = server.address()
  await new Promise((done) => server.close(done))
  return port
}

const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'copydesk-pds-'))
process.on('exit', () => fs.rmSync(folder, { recursive: true, force: true }))
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => process.exit(0))
process.stdin.on('end', () => process.exit(0)).resume()

const plcPort = await freePort()
await plc.PlcServer.create({ db: plc.Database.mock(), port: plcPort }).start()

const port = await freePort()
const secret = randomBytes(16).toString('hex')
const nowhere = { url: 'https://nowhere.invalid', did: 'did:web:nowhere.invalid' }
const pds = await PDS.fromEnv({
  ...readEnv(),
  port,
  devMode: true,
  hostname: 'localhost',
  dataDirectory: folder,
  blobstoreDiskLocation: path.join(folder, 'blobs'),
  blobstoreDiskTmpLocation: path.join(folder, 'blobs-tmp'),
  didPlcUrl: `http://127.0.0.1:${plcPort}`,
  plcRotationKeyK256PrivateKeyHex: randomBytes(32).toString('hex'),
  jwtSecret: secret,
  adminPassword: randomBytes(16).toString('hex'),
  serviceHandleDomains: ['.test'],
  inviteRequired: false,
  disableSsrfProtection: true,
  rateLimitsEnabled: process.argv.includes('--rate-limits'),
  bskyAppViewUrl: nowhere.url,
  bskyAppViewDid: nowhere.did,
  modServiceUrl: nowhere.url,
  modServiceDid: nowhere.did,
})

// `.test` hosts are not in the DNS, so resolve handles from the server's own accounts.
pds.ctx.idResolver.handle.resolve = async (handle) => (await pds.ctx.accountManager.getAccount(handle))?.did

await pds.start()
console.log(JSON.stringify({ url: `http://127.0.0.1:${port}`, plc: `http://127.0.0.1:${plcPort}`, secret }))
