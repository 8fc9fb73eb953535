"""The client of the Python SDK as a program, driven as the one in `../rmcp` is: one JSON command a line in, one JSON
line out for each answer and event. Needs a Python with the package `mcp`."""

import asyncio
import contextlib
import json
import sys
import warnings

import httpx2
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

# 2025 has what the library gives up for 2026.
warnings.simplefilter("ignore")

LIST_CHANGED = {
    ToolsListChanged: "notifications/tools/list_changed",
    PromptsListChanged: "notifications/prompts/list_changed",
    ResourcesListChanged: "notifications/resources/list_changed",
}


def say(line):
    print(json.dumps(line), flush=True)


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def event(name, params=None):
    say({"event": name, "params": plain(params)})


def failure(error):
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return {"code": getattr(error, "code", None), "message": f"{type(error).__name__}: {error}"}


class Driver:
    def __init__(self, start):
        self.start = start
        self.answers = start.get("answers", {})
        self.listening = None

    def client(self, stack):
        start = self.start
        if "url" in start:
            token = start.get("token")
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            http = httpx2.AsyncClient(headers=headers, timeout=30)
            server = streamable_http_client(start["url"], http_client=http)
        else:
            command = start["command"]
            server = StdioServerParameters(command=command[0], args=command[1:])
        asks = {}
        if "elicitation" in self.answers:
            asks["elicitation_callback"] = self.elicit
        if "sampling" in self.answers:
            asks["sampling_callback"] = self.sample
        if "roots" in self.answers:
            asks["list_roots_callback"] = self.roots
        mode = "auto" if start["version"] >= "2026" else "legacy"
        return Client(server, mode=mode, logging_callback=self.log, message_handler=self.message, **asks)

    async def elicit(self, context, params):
        event("elicitation/create", params)
        answers = self.answers["elicitation"]
        return types.ElicitResult.model_validate(answers.get(params.message) or answers)

    async def sample(self, context, params):
        event("sampling/createMessage", params)
        return types.CreateMessageResult.model_validate(self.answers["sampling"])

    async def roots(self, context):
        event("roots/list")
        return types.ListRootsResult.model_validate(self.answers["roots"])

    async def log(self, params):
        event("notifications/message", params)

    async def message(self, message):
        method = getattr(message, "method", "")
        if method.endswith("list_changed") or method.endswith("updated"):
            if self.listening is None:
                event(method, message.params)
        elif isinstance(message, Exception):
            event("error", repr(message))

    async def progress(self, progress, total, message):
        event("notifications/progress", {"progress": progress, "total": total, "message": message})

    async def listen(self, client, params, ready):
        wanted = {
            "tools_list_changed": params.get("toolsListChanged", False),
            "prompts_list_changed": params.get("promptsListChanged", False),
            "resources_list_changed": params.get("resourcesListChanged", False),
            "resource_subscriptions": params.get("resourceSubscriptions", ()),
        }
        try:
            async with client.listen(**wanted) as subscription:
                ready.set_result(plain(subscription.honored))
                async for change in subscription:
                    if isinstance(change, ResourceUpdated):
                        event("notifications/resources/updated", {"uri": str(change.uri)})
                    else:
                        event(LIST_CHANGED[type(change)])
        except Exception as error:
            if not ready.done():
                ready.set_exception(error)

    async def run(self, client, method, params):
        page = {"cursor": params["cursor"]} if "cursor" in params else {}
        match method:
            case "tools/list":
                return await client.list_tools(**page)
            case "tools/call":
                return await client.call_tool(
                    params["name"],
                    params.get("arguments"),
                    progress_callback=self.progress,
                    meta=params.get("_meta"),
                )
            case "resources/list":
                return await client.list_resources(**page)
            case "resources/templates/list":
                return await client.list_resource_templates(**page)
            case "resources/read":
                return await client.read_resource(params["uri"])
            case "resources/subscribe":
                return await client.subscribe_resource(params["uri"])
            case "resources/unsubscribe":
                return await client.unsubscribe_resource(params["uri"])
            case "prompts/list":
                return await client.list_prompts(**page)
            case "prompts/get":
                return await client.get_prompt(params["name"], params.get("arguments"))
            case "completion/complete":
                ref = params["ref"]
                kinds = {"ref/prompt": types.PromptReference, "ref/resource": types.ResourceTemplateReference}
                return await client.complete(kinds[ref["type"]].model_validate(ref), params["argument"])
            case "logging/setLevel":
                return await client.set_logging_level(params["level"])
            case "subscriptions/listen":
                ready = asyncio.get_running_loop().create_future()
                self.listening = asyncio.create_task(self.listen(client, params, ready))
                return await ready
        raise ValueError(f"no method {method}")

    async def answer(self, client, command):
        try:
            result = await self.run(client, command["do"], command.get("params") or {})
            say({"id": command["id"], "result": plain(result)})
        except asyncio.CancelledError:
            raise
        except Exception as error:
            say({"id": command["id"], "error": failure(error)})

    async def serve(self):
        loop = asyncio.get_running_loop()
        async with contextlib.AsyncExitStack() as stack:
            try:
                client = await stack.enter_async_context(self.client(stack))
            except BaseException as error:
                event("failed", failure(error))
                return
            event(
                "connected",
                {
                    "protocolVersion": client.protocol_version,
                    "serverInfo": plain(client.server_info),
                    "instructions": client.instructions,
                },
            )
            tasks = {}
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                command = json.loads(line)
                if command["do"] == "cancel":
                    task = tasks.get(command["params"])
                    if task:
                        task.cancel()
                    say({"id": command["id"], "result": None})
                else:
                    tasks[command["id"]] = asyncio.create_task(self.answer(client, command))
            rest = [*tasks.values(), *filter(None, [self.listening])]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        event("closed")


asyncio.run(Driver(json.loads(sys.argv[1])).serve())
