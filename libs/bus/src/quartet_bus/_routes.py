"""Routes that the robots of a place announce before they drive."""

import logging

from quartet_bus._part import Part
from quartet_bus._skipped import log_skipped
from quartet_bus.errors import BusError
from quartet_bus.functions import AnnounceRoute, WithdrawRoute
from quartet_contracts import AnnouncedRoute, ContractError, Route, RouteTurn, decode, encode

log = logging.getLogger(__name__)

EXPIRY_S = 10.0
"""An announcement that is not repeated for so long is forgotten: its process may have died."""


class Routes(Part):
    """Routes by place and robot. Nobody drives more safely by them: a store that is away costs the order only."""

    async def announce(self, place: str, robot: str, number: int | None, route: Route) -> RouteTurn:
        """Announce a robot's route, or again with the `number` of its drive, and return the routes of the others.

        Without an answer of the store there are no others.
        """
        key, keep_ms = self._keys.routes(place), round(self._options.records_s * 1000)
        try:
            found = await self._store.run(
                AnnounceRoute(key, robot, number or 0, encode(route), round(EXPIRY_S * 1000), keep_ms)
            )
        except BusError as error:
            log.warning("the route of %s is not announced: %s", robot, error)
            return RouteTurn(number or 0, ())
        others: list[AnnouncedRoute] = []
        for name, drive, data in found.others:
            try:
                others.append(AnnouncedRoute(name, drive, decode(Route, data)))
            except ContractError as error:
                log_skipped("route", name, error)
        return RouteTurn(found.number, tuple(others))

    async def withdraw(self, place: str, robot: str, number: int) -> None:
        """Forget the route of the drive with this number; without an answer of the store it expires."""
        try:
            await self._store.run(WithdrawRoute(self._keys.routes(place), robot, number))
        except BusError as error:
            log.warning("the route of %s is not withdrawn: %s", robot, error)
