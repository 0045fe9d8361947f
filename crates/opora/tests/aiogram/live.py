"""An aiogram bot on the same Redis as the bot of the test. Each line of standard input is a JSON object with updates, as
a webhook would deliver them. Prints the state and data after each handler, a line for each update.

live.py URL

A line has `options` (key builder), `strategy`, `state_ttl`, `data_ttl` and an `update`, or a list of them in `updates`, which
are fed at once. The text of a message is a command:

get                     nothing
set STATE JSON          sets state and data
add                     adds one to `count`, with a pause between read and write
slow SECONDS            like add, with a long pause
clear                   removes state and data
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


def dispatcher(url, options):
    storage = RedisStorage.from_url(
        url,
        key_builder=DefaultKeyBuilder(**options["options"]),
        state_ttl=options.get("state_ttl"),
        data_ttl=options.get("data_ttl"),
    )
    strategy = FSMStrategy[options["strategy"]]
    made = Dispatcher(storage=storage, fsm_strategy=strategy, events_isolation=storage.create_isolation())
    made.message.register(handle)
    made.business_message.register(handle)
    return made


async def main(url):
    bot, dispatchers = Bot(TOKEN), {}
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        options = json.loads(line)
        updates = options.pop("updates", None) or [options.pop("update")]
        name = json.dumps(options)
        if name not in dispatchers:
            dispatchers[name] = dispatcher(url, options)
        feed = [dispatchers[name].feed_update(bot, Update.model_validate(update, context={"bot": bot})) for update in updates]
        for seen in await asyncio.gather(*feed):
            print(json.dumps(seen), flush=True)
    for made in dispatchers.values():
        await made.storage.close()
    await bot.session.close()


asyncio.run(main(sys.argv[1]))
