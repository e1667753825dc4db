"""What the operator serves over plain HTTP: its metrics, and the intake of those that roles keep.

Both servers live in one thread with one event loop. TLS and access control of the metrics are not
active yet.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading

import structlog
from aiohttp import web
from prometheus_client import registry

from ansible_operator import endpoints, errors, exposition, metricchange, usermetrics

ADDRESS_VARIABLE = "OSDK_METRIC_ADDRESS"
"""Tells ``osdk_metric`` where the intake is, in the environment of a run."""

BODY_LIMIT = 16384
"""Bytes of a document that is taken in."""

_PATIENCE = 1.0  # seconds that requests under way get to end
_END = 5.0  # seconds that the thread gets to end

log = structlog.get_logger("metrics")


class Serving:
    """Listens from its construction on, answers between :meth:`start` and :meth:`stop`.

    ``metrics`` is the value of --metrics-bind-address, None where the flag was not given; 0 or
    empty for none. ``intake`` is that of --user-metrics-port, 0 for none. Raises SettingsError if
    it cannot listen where a flag says, or the flag is no address. Where a default is taken there
    is only a warning: then metrics are not shown, and the intake has any free port, also where the
    flag names the usual one.
    """

    def __init__(
        self,
        shown: registry.Collector,
        taken: usermetrics.UserMetrics,
        *,
        metrics: str | None = None,
        intake: int = endpoints.INTAKE_PORT,
    ) -> None:
        self._metrics = endpoints.for_metrics(metrics)
        try:
            self._intake = endpoints.for_intake(intake)
        except errors.SettingsError:
            endpoints.close(self._metrics)
            raise
        self._shown = shown
        self._taken = taken
        self._loop = asyncio.new_event_loop()
        self._stopped = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)

    @property
    def metrics_port(self) -> int:
        """Where the metrics are shown; 0 if they are not."""
        return endpoints.port_of(self._metrics)

    @property
    def intake_port(self) -> int:
        """Where metrics of roles are taken in, on the loopback address; 0 if they are not."""
        return endpoints.port_of(self._intake)

    @property
    def environ(self) -> dict[str, str]:
        """What the environment of runs needs for ``osdk_metric`` to find the intake."""
        if self.intake_port in (0, endpoints.INTAKE_PORT):
            return {}
        return {ADDRESS_VARIABLE: f"http://{endpoints.LOOPBACK}:{self.intake_port}/metrics"}

    def start(self) -> None:
        """Begin to answer; returns at once."""
        if self._metrics or self._intake:
            log.info("serving metrics", port=self.metrics_port, intake=self.intake_port)
            self._thread.start()

    def stop(self) -> None:
        """Answer what is under way and close everything; also where it was never started."""
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join(_END)
        endpoints.close(self._metrics)
        endpoints.close(self._intake)
        if not self._thread.is_alive() and not self._loop.is_closed():
            self._loop.close()

    def _serve(self) -> None:
        try:
            self._loop.run_until_complete(self._sites())
        except Exception:
            log.exception("bug: the metrics are no longer served")
        finally:
            self._loop.close()

    async def _sites(self) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for listening, application in (
                (self._metrics, _exposing(self._shown)),
                (self._intake, _taking_in(self._taken)),
            ):
                if listening is not None:
                    runner = web.AppRunner(
                        application,
                        access_log=None,
                        handle_signals=False,
                        shutdown_timeout=_PATIENCE,
                    )
                    await runner.setup()
                    stack.push_async_callback(runner.cleanup)
                    await web.SockSite(runner, listening).start()
            await self._stopped.wait()


def _exposing(shown: registry.Collector) -> web.Application:
    async def metrics(request: web.Request) -> web.Response:
        response = web.Response(
            body=exposition.render(shown), headers={"Content-Type": exposition.CONTENT_TYPE}
        )
        response.enable_compression()
        return response

    application = web.Application()
    application.router.add_get("/metrics", metrics)
    return application


def _taking_in(taken: usermetrics.UserMetrics) -> web.Application:
    async def post(request: web.Request) -> web.Response:
        try:
            taken.apply(json.loads(await request.read()))
        except metricchange.RefusedError as refusal:
            return _refused(str(refusal), refusal.status)
        except (ValueError, RecursionError) as error:
            return _refused(f"the request is no JSON: {error}", 400)
        return web.Response()

    application = web.Application(client_max_size=BODY_LIMIT)
    application.router.add_post("/metrics", post)
    return application


def _refused(text: str, status: int) -> web.Response:
    log.warning("a metric of a role was not taken", reason=text)
    return web.Response(text=text, status=status)
