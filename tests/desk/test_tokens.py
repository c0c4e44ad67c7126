"""Tests for API tokens: what they allow, and that only valid ones are accepted."""

import string
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copydesk.errors import ConflictError, DeskClosedError, InvalidError, NotFoundError
from copydesk.model.token import Scope, hash_secret, new_secret, secret_prefix
from desk_fixtures import NOW, query_db
from desks_fixtures import open_desks_at

DAY = timedelta(days=1)
SECRET_CHARACTERS = string.ascii_letters + string.digits


def test_scopes_are_ordered():
    assert list(Scope) == [Scope.READ, Scope.DRAFT, Scope.REVIEW, Scope.PUBLISH]
    covered = {scope: [required.value for required in Scope if scope.covers(required)] for scope in Scope}
    assert covered == {
        Scope.READ: ["read"],
        Scope.DRAFT: ["read", "draft"],
        Scope.REVIEW: ["read", "draft", "review"],
        Scope.PUBLISH: ["read", "draft", "review", "publish"],
    }


def test_secrets_differ_and_have_one_form():
    secrets = {new_secret() for _ in range(1_000)}
    assert len(secrets) == 1_000
    assert all(secret.startswith("cd_") and len(secret) == 46 for secret in secrets)
    assert {character for secret in secrets for character in secret[3:]} == set(SECRET_CHARACTERS)
    assert all(hash_secret(secret) for secret in secrets)
    assert {len(secret_prefix(secret)) for secret in secrets} == {7}


@given(st.text() | st.from_regex(r"cd_[A-Za-z0-9]{40,46}\s?", fullmatch=True))
def test_only_the_exact_form_is_hashed(text):
    is_secret = (
        len(text) == 46 and text.startswith("cd_") and all(character in SECRET_CHARACTERS for character in text[3:])
    )
    assert (hash_secret(text) is not None) == is_secret


async def test_token_authenticates_its_user(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        anna = await desks.users.add("anna")
        tokens = {
            user.id: await (await desks.get(user)).tokens.create("agent", Scope.DRAFT) for user in (desks.owner, anna)
        }
        for user in (desks.owner, anna):
            created = tokens[user.id]
            access = await desks.authenticate(created.secret)
            assert access is not None
            assert (access.user, access.token_id, access.token_name, access.scope) == (
                user,
                created.id,
                "agent",
                Scope.DRAFT,
            )


@pytest.mark.sqlite("bytes of the file")
async def test_secret_is_not_stored_or_shown(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        desk = await desks.get(desks.owner)
        created = await desk.tokens.create("agent", "read")
        (listed,) = await desk.tokens.list()
    assert created.secret not in repr(created)
    assert created.prefix == created.secret[:7]
    assert not hasattr(listed, "secret")
    (row,) = query_db(tmp_path, "SELECT * FROM token")
    assert hash_secret(created.secret) in row
    content = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert created.prefix.encode() in content
    assert created.secret[7:].encode() not in content


async def test_revoked_token_stops_working_at_once(tmp_path):
    async with open_desks_at(tmp_path) as desks, open_desks_at(tmp_path) as other_process:
        desk = await other_process.get(other_process.owner)
        by_id, by_name = await desk.tokens.create("one", "read"), await desk.tokens.create("two", "read")
        assert await desks.authenticate(by_id.secret)
        assert await desks.authenticate(by_name.secret)

        revoked = await desk.tokens.revoke(by_id.id)
        assert revoked.revoked_at == NOW
        assert await desks.authenticate(by_id.secret) is None
        await desk.tokens.revoke("two")
        assert await desks.authenticate(by_name.secret) is None

        assert [token.revoked_at for token in await desk.tokens.list()] == [NOW, NOW]


async def test_revoked_token_stays_as_it_is(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        desk = await desks.get(desks.owner)
        created = await desk.tokens.create("agent", "read")
        first = await desk.tokens.revoke(created.id)
        desk._context.clock.now += DAY
        assert await desk.tokens.revoke(created.id) == first


async def test_token_expires(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        desk = await desks.get(desks.owner)
        clock = desk._context.clock
        created = await desk.tokens.create("agent", "read", NOW + DAY)
        clock.now = NOW + DAY - timedelta(milliseconds=1)
        assert await desks.authenticate(created.secret)
        (token,) = await desk.tokens.list()
        assert token.is_valid(clock())
        clock.now = NOW + DAY
        assert await desks.authenticate(created.secret) is None
        assert not token.is_valid(clock())


@given(st.integers(0, 42), st.sampled_from(SECRET_CHARACTERS))
def test_any_other_character_makes_another_token(place, character):
    secret = "cd_" + "k" * 43
    forged = secret[: 3 + place] + character + secret[4 + place :]
    assert (hash_secret(forged) == hash_secret(secret)) == (character == "k")


@pytest.mark.parametrize("make", [
    lambda secret: "",
    lambda secret: "cd_",
    lambda secret: secret[:-1],
    lambda secret: secret + "A",
    lambda secret: secret + "\n",
    lambda secret: " " + secret,
    lambda secret: secret.lower() if secret != secret.lower() else secret.upper(),
    lambda secret: secret.removeprefix("cd_"),
    lambda secret: secret[:20] + "\x00" + secret[21:],
    lambda secret: secret[:20] + "\ud800" + secret[21:],
    lambda secret: secret[:20] + "é" + secret[21:],
    lambda secret: secret[:20] + "%" + secret[21:],
    lambda secret: secret * 100_000,
    lambda secret: hash_secret(secret).hex(),
    lambda secret: "cd_' OR '1'='1",
])  # fmt: skip
async def test_forged_token_is_refused(tmp_path, make):
    async with open_desks_at(tmp_path) as desks:
        created = await (await desks.get(desks.owner)).tokens.create("agent", "publish")
        assert await desks.authenticate(make(created.secret)) is None
        assert await desks.authenticate(created.secret)


async def test_tokens_belong_to_one_user(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        owner, anna = await desks.get(desks.owner), await desks.get(await desks.users.add("anna"))
        created = await owner.tokens.create("agent", "read")
        assert await anna.tokens.list() == ()
        for name in (created.id, "agent"):
            with pytest.raises(NotFoundError, match=r"^No token "):
                await anna.tokens.revoke(name)
        assert await desks.authenticate(created.secret)
        await anna.tokens.create("agent", "read")


async def test_name_of_a_revoked_token_is_free(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        tokens = (await desks.get(desks.owner)).tokens
        first = await tokens.create("agent", "read")
        with pytest.raises(ConflictError, match="There is already a token “agent”"):
            await tokens.create(" agent ", "read")
        await tokens.revoke("agent")
        second = await tokens.create("agent", "read")
        assert [token.id for token in await tokens.list()] == [first.id, second.id]
        assert (await tokens.revoke("agent")).id == second.id
        with pytest.raises(NotFoundError):
            await tokens.revoke("agent")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"scope": "admin"}, "scope"),
        ({"expires_at": NOW}, "expiresAt"),
        ({"expires_at": NOW.replace(tzinfo=None) + DAY}, "expiresAt"),
        ({"expires_at": NOW + 4_000 * DAY}, "expiresAt"),
        ({"expires_at": datetime.max.replace(tzinfo=UTC)}, "expiresAt"),
    ],
)
async def test_invalid_token_is_refused(tmp_path, arguments, field):
    async with open_desks_at(tmp_path) as desks:
        tokens = (await desks.get(desks.owner)).tokens
        with pytest.raises(InvalidError) as caught:
            await tokens.create(**({"name": "agent", "scope": "read"} | arguments))
        assert [error.field for error in caught.value.errors] == [field]
        assert await tokens.list() == ()


async def test_closed_desks_authenticate_nobody(tmp_path):
    async with open_desks_at(tmp_path) as desks:
        created = await (await desks.get(desks.owner)).tokens.create("agent", "read")
    with pytest.raises(DeskClosedError):
        await desks.authenticate(created.secret)
