// Run the Bluesky network on loopback: PLC, PDS, AppView and the services they need, each on a free port, with a
// PostgreSQL of its own. Prints the addresses as one line of JSON when all are ready. Answers each line on standard
// input with a line once the AppView has processed everything the PDS holds. Exits when standard input closes, so that
// nothing is left running if the parent is killed.
//
//     node serve.mjs FOLDER_OF_POSTGRES [UID GID]
//
// PostgreSQL refuses to run as root; in that case it runs with these ids.

import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'

const SECONDS_TO_START = 30

// All of them would listen on every network interface and have no setting for it.
const listen = net.Server.prototype.listen
net.Server.prototype.listen = function (first, ...rest) {
  const port = typeof first === 'number' ? first : first?.port
  if (port === undefined || first?.host) return listen.call(this, first, ...rest)
  const then = rest.filter((each) => typeof each === 'function')
  return listen.call(this, { port, host: '127.0.0.1' }, ...then)
}

// Keep standard output for our own lines.
console.log = console.error

const [binaries, ...ids] = process.argv.slice(2)
const [uid, gid] = ids.map(Number)
const database = fs.mkdtempSync(path.join(os.tmpdir(), 'copydesk-postgres-'))
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'copydesk-bsky-'))
let postgres
process.on('exit', () => {
  postgres?.kill('SIGQUIT')
  for (const each of [database, folder]) fs.rmSync(each, { recursive: true, force: true, maxRetries: 5 })
})

async function end() {
  if (postgres?.kill('SIGQUIT')) await once(postgres, 'exit')
  process.exit(0)
}
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, end)
const lines = readline.createInterface({ input: process.stdin }).on('close', end)

// Inaccessible to other users: no TCP port, and the socket is in a private folder.
async function startPostgres() {
  if (uid !== undefined) fs.chownSync(database, uid, gid)
  const data = path.join(database, 'data')
  const as = { cwd: database, uid, gid, stdio: ['ignore', 2, 2] }
  const options = ['--username=copydesk', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  const made = spawnSync(path.join(binaries, 'initdb'), ['--pgdata', data, ...options], as)
  if (made.status !== 0) throw new Error('initdb failed')
  const quick = ['-F', '-c', 'listen_addresses=', '-c', 'max_connections=100']
  postgres = spawn(path.join(binaries, 'postgres'), ['-D', data, '-k', database, ...quick], as)
  const asked = ['--quiet', `--host=${database}`, '--username=copydesk', '--dbname=postgres']
  for (let tries = SECONDS_TO_START * 10; spawnSync(path.join(binaries, 'pg_isready'), asked).status !== 0; tries--) {
    if (tries === 0 || postgres.exitCode !== null) throw new Error('PostgreSQL did not start')
    await wait(100)
  }
}

await startPostgres()

// Only the address of Redis is required: this version never connects to it.
process.env.REDIS_HOST = '127.0.0.1:1'
process.env.TMPDIR = folder
const { TestNetwork } = await import('@atproto/dev-env')
const secret = randomBytes(16).toString('hex')
const network = await TestNetwork.create({
  pds: { jwtSecret: secret },
  dbPostgresUrl: `postgresql://copydesk@/postgres?host=${encodeURIComponent(database)}`,
  dbPostgresSchema: 'copydesk',
})

const [url, plc] = [network.pds, network.plc].map(({ port }) => `http://127.0.0.1:${port}`)
process.stdout.write(`${JSON.stringify({ url, plc, secret })}\n`)
for await (const _ of lines) {
  await network.processAll()
  process.stdout.write('settled\n')
}
