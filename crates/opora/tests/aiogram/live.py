"""A bot of aiogram's that works on the same Redis as the tests' own: updates come by standard input, as a webhook would
bring them, each a line of JSON; what its handler saw in the end goes to standard output, a line for each.

live.py URL

A line has `options` (key builder), `strategy`, `state_ttl`, `data_ttl` and an `update`, or a list of them in `updates`, which
are fed at once. The text of a message is what is to be done:

get                     nothing
set STATE JSON          another state and other data
add                     one more in `count`, read and written with a pause between them
slow SECONDS            the same, with a long pause
clear                   no state, no data
"""

import asyncio
import json
import sys

from aiogram import Bot, Dispatcher
from aiogram.fsm.context import FSMContext
from aiogram.fsm.storage.base import DefaultKeyBuilder
from aiogram.fsm.storage.redis import RedisStorage
from aiogram.fsm.strategy import FSMStrategy
from aiogram.types import Message, Update

TOKEN = "123456789:AAtesttesttesttesttesttesttesttestt"


async def handle(message: Message, state: FSMContext):
    command, *rest = message.text.split(" ", 2)
    if command == "set":
        await state.set_state(rest[0])
        await state.set_data(json.loads(rest[1]))
    elif command in ("add", "slow"):
        data = await state.get_data()
        await asyncio.sleep(float(rest[0]) if rest else 0.002)
        await state.update_data(count=data.get("count", 0) + 1)
    elif command == "clear":
        await state.clear()
    return {"state": await state.get_state(), "data": json.dumps(await state.get_data())}


def dispatcher(url, told):
    kept = RedisStorage.from_url(
        url,
        key_builder=DefaultKeyBuilder(**told["options"]),
        state_ttl=told.get("state_ttl"),
        data_ttl=told.get("data_ttl"),
    )
    made = Dispatcher(storage=kept, fsm_strategy=FSMStrategy[told["strategy"]], events_isolation=kept.create_isolation())
    made.message.register(handle)
    made.business_message.register(handle)
    return made


async def main(url):
    bot, dispatchers = Bot(TOKEN), {}
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        told = json.loads(line)
        updates = told.pop("updates", None) or [told.pop("update")]
        name = json.dumps(told)
        if name not in dispatchers:
            dispatchers[name] = dispatcher(url, told)
        feed = [dispatchers[name].feed_update(bot, Update.model_validate(update, context={"bot": bot})) for update in updates]
        for seen in await asyncio.gather(*feed):
            print(json.dumps(seen), flush=True)
    for made in dispatchers.values():
        await made.storage.close()
    await bot.session.close()


asyncio.run(main(sys.argv[1]))
