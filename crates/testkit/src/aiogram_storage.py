"""aiogram's own RedisStorage: tests read what it wrote, and it reads what they wrote.

aiogram_storage.py matrix URL        writes every strategy, option and kind of data; prints a line of JSON for each key
aiogram_storage.py many URL BOT N    writes N conversations of people in private chats
aiogram_storage.py dumps SEED N      prints N values of all kinds as json.dumps writes them
aiogram_storage.py check URL         reads lines of JSON from standard input; prints for each whether aiogram reads the same
"""

import asyncio
import itertools
import json
import random
import sys

from aiogram.fsm.storage.base import DefaultKeyBuilder, StorageKey
from aiogram.fsm.storage.redis import RedisStorage
from aiogram.fsm.strategy import FSMStrategy, apply_strategy

BOT = 42
DATA = [
    {},
    {"name": "Анна", "emoji": "😀🦔", "odd": '"\\/\b\f\n\r\t\x00\x1f\x7f\u2028é', "имя": ""},
    {"big": 2**200, "negative": -(2**70), "beyond": 2**64, "float": 0.1, "large": 1e300, "small": 1e-7, "sixteen": 1e16},
    {"nan": float("nan"), "all": [float("inf"), -float("inf")], "zero": -0.0},
    {"nested": {"a": [1, [2, [3, {}]], ()], "none": None, "yes": True}, "empty": [], "deep": {"b": {"c": {"d": "e"}}}},
    {"half": "\ud83d", "turned": "\ude00\ud83d", "half \udc00": 1},
    {1: "a", "1": "b", 2.5: "c", None: "d", True: "e"},
    {"phone": "+7 900", "items": [{"id": i, "title": f"№ {i}"} for i in range(50)]},
]
# Chat, user, thread, business connection.
PLACES = [(5, 5, None, None), (-1001234567890, 7, None, None), (-1009999999999, 8, 9, None), (11, 11, None, "bc_AbC-1")]


def builder(options):
    return DefaultKeyBuilder(**options)


def storage(url, options, **kwargs):
    return RedisStorage.from_url(url, key_builder=builder(options), **kwargs)


async def matrix(url):
    flags = ["with_bot_id", "with_business_connection_id", "with_destiny"]
    data = itertools.cycle(DATA)
    for strategy, separator, *chosen in itertools.product(FSMStrategy, [":", "/"], *[[False, True]] * 3):
        chosen = dict(zip(flags, chosen))
        number = list(FSMStrategy).index(strategy) * 100 + sum(1 << i for i, flag in enumerate(flags) if chosen[flag])
        options = {"prefix": f"fsm-{number}-{ord(separator)}", "separator": separator, **chosen}
        kept = storage(url, options, state_ttl=3600 if separator == "/" else None)
        for place, (chat, user, thread, business) in enumerate(PLACES):
            for destiny in ["default", "menu:main"][: 2 if chosen["with_destiny"] else 1]:
                key_chat, key_user, key_thread = apply_strategy(strategy, chat, user, thread)
                key = StorageKey(BOT, key_chat, key_user, key_thread, business, destiny)
                state, value = None if place == 3 else f"Form:step_{place}", next(data)
                if state is None and not value:
                    value = next(data)
                await kept.set_state(key, state)
                await kept.set_data(key, value)
                told = {"options": options, "strategy": strategy.name, "chat": chat, "user": user}
                told |= {"thread": thread or 0, "business": business or "", "destiny": destiny}
                told |= {"state": state or "", "data": json.dumps(value)}
                told["names"] = [builder(options).build(key, part) for part in ["state", "data", "lock"]]
                print(json.dumps(told))
        await kept.close()


async def many(url, bot, number):
    kept = storage(url, {"with_bot_id": True})
    steps = ["CreateOrderStates:client_name", "CreateOrderStates:client_phone", "CreateOrderStates:address"]

    async def one(user):
        key = StorageKey(bot, user, user)
        await kept.set_state(key, steps[user % 3])
        if user % 3:
            await kept.set_data(key, {"client_name": f"Клиент {user} 😀", "total": user * 10**18, "tags": ["a", "b"]})

    for first in range(1, number + 1, 50):
        await asyncio.gather(*[one(user) for user in range(first, min(first + 50, number + 1))])
    await kept.close()


async def put(url, bot, chat, user):
    kept = storage(url, {})
    told = json.loads(sys.stdin.read())
    key = StorageKey(bot, chat, user)
    await kept.set_state(key, told["state"])
    await kept.set_data(key, told["data"])
    await kept.close()


async def check(url):
    storages = {}
    for line in sys.stdin:
        told = json.loads(line)
        options = told["options"]
        kept = storages.setdefault(json.dumps(options), storage(url, options))
        chat, user, thread = apply_strategy(FSMStrategy[told["strategy"]], told["chat"], told["user"], told["thread"] or None)
        key = StorageKey(BOT, chat, user, thread, told["business"] or None, told["destiny"])
        state, data = await kept.get_state(key), await kept.get_data(key)
        expected = json.dumps(json.loads(told["data"]))
        print(json.dumps({"same": (state or "") == told["state"] and json.dumps(data) == expected, "read": json.dumps(data)}))
    for kept in storages.values():
        await kept.close()


async def dumps(seed, number):
    chance = random.Random(int(seed))

    def text():
        return "".join(chr(chance.choice([chance.randrange(128), chance.randrange(0x110000)])) for _ in range(chance.randrange(8)))

    def value(depth):
        numbers = [chance.randrange(-100, 100), chance.getrandbits(200), chance.uniform(-1, 1), chance.random() * 10.0 ** chance.randrange(-320, 308)]
        plain = [None, True, False, float("nan"), float("inf"), -float("inf"), text(), text(), *numbers]
        nested = [lambda: [value(depth + 1) for _ in range(chance.randrange(4))]]
        nested.append(lambda: {chance.choice([text(), chance.randrange(9), None]): value(depth + 1) for _ in range(chance.randrange(4))})
        return chance.choice(nested)() if depth < 6 and chance.random() < 0.5 else chance.choice(plain)

    for _ in range(number):
        print(json.dumps({"value": value(0)}))


command, url, *rest = sys.argv[1:]
asyncio.run({"matrix": matrix, "many": many, "put": put, "dumps": dumps, "check": check}[command](url, *map(int, rest)))
