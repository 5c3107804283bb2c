"""The few kinds of panel that the dashboards are made of."""

from collections.abc import Mapping

from grafana_foundation_sdk.builders import (
    bargauge,
    common,
    dashboard,
    prometheus,
    stat,
    statetimeline,
    table,
    timeseries,
)
from grafana_foundation_sdk.models import common as common_models
from grafana_foundation_sdk.models import dashboard as models
from grafana_foundation_sdk.models import prometheus as prometheus_models

SOURCE = models.DataSourceRef(type_val="prometheus", uid="quartet-prometheus")
WINDOW = "[$__rate_interval]"
"""Of rates: Grafana makes it wide enough for the panel's resolution and the scrape interval."""
COLUMNS = 24

STOPPED = {"0": ("free", "green"), "1": ("stopped", "red")}
CONNECTED = {"0": ("lost", "red"), "1": ("connected", "green")}
UP = {"0": ("down", "red"), "1": ("up", "green")}

Queries = Mapping[str, str]
"""PromQL by legend; in a legend {{label}} is a label's value."""


def board(uid: str, title: str, description: str) -> dashboard.Dashboard:
    """An empty dashboard of the last half hour."""
    return (
        dashboard.Dashboard(f"Quartet · {title}")
        .uid(f"quartet-{uid}")
        .description(description)
        .tags(["quartet"])
        .readonly()
        .refresh("5s")
        .time("now-30m", "now")
        .timezone("browser")
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            dashboard.DashboardLink("Quartet")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags(["quartet"])
            .as_dropdown(True)
            .keep_time(True)
        )
    )


def variable(name: str, label: str, metric: str, of: str) -> dashboard.QueryVariable:
    """Chooses one of the values that label `of` of `metric` has."""
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(SOURCE)
        .query(f"label_values({metric}, {of})")
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.ALPHABETICAL_ASC)
    )


def lines(title: str, queries: Queries, *, unit: str = "short", about: str = "", stacked: bool = False, wide: int = 8):
    """Values over time."""
    panel = timeseries.Panel().title(title).unit(unit).min(0).span(wide).height(8).datasource(SOURCE)
    panel = panel.legend(
        common.VizLegendOptions()
        .display_mode(common_models.LegendDisplayMode.LIST)
        .placement(common_models.LegendPlacement.BOTTOM)
        .show_legend(True)
    )
    panel = panel.tooltip(common.VizTooltipOptions().mode(common_models.TooltipDisplayMode.MULTI)).description(about)
    if stacked:
        panel = panel.stacking(common.StackingConfig().mode(common_models.StackingMode.NORMAL)).fill_opacity(30)
    return _with(panel, queries)


def number(
    title: str, query: str, *, unit: str = "short", about: str = "", bad_from: float | None = None, wide: int = 4
):
    """One figure; red from `bad_from` on."""
    panel = stat.Panel().title(title).unit(unit).span(wide).height(4).datasource(SOURCE).description(about)
    panel = panel.graph_mode(common_models.BigValueGraphMode.AREA).thresholds(_thresholds(bad_from))
    return _with(panel, {"": query})


def bars(title: str, query: str, legend: str, *, unit: str = "short", about: str = "", wide: int = 8):
    """One bar a label value, as of now."""
    panel = bargauge.Panel().title(title).unit(unit).min(0).span(wide).height(8).datasource(SOURCE).description(about)
    panel = panel.orientation(common_models.VizOrientation.HORIZONTAL)
    return panel.with_target(_query(query, legend, "A").instant())


def states(title: str, queries: Queries, *, words: Mapping[str, tuple[str, str]], about: str = "", wide: int = 12):
    """What holds when, as coloured bars; `words` gives text and colour of each value."""
    known = {value: models.ValueMappingResult(text=text, color=colour) for value, (text, colour) in words.items()}
    panel = statetimeline.Panel().title(title).span(wide).height(8).datasource(SOURCE).description(about)
    panel = panel.mappings([models.ValueMap(options=known)]).show_value(common_models.VisibilityMode.NEVER)
    return _with(panel, queries)


def rows(title: str, query: str, *, about: str = "", unit: str = "short", wide: int = 8):
    """A table of the newest values, one row a series."""
    panel = table.Panel().title(title).unit(unit).span(wide).height(8).datasource(SOURCE).description(about)
    target = _query(query, "", "A").instant().format(prometheus_models.PromQueryFormat.TABLE)
    hidden = models.DataTransformerConfig(id_val="organize", options={"excludeByName": {"Time": True}})
    return panel.with_target(target).with_transformation(hidden)


def quantile(share: float, metric: str, window: str, by: str = "", of: str = "") -> str:
    """PromQL of a quantile of a histogram over `window`, by label `by`, of the series that `of` names."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket{{{of}}}[{window}])))"


def _with(panel, queries: Queries):
    for ref, (legend, query) in zip("ABCDEFGH", queries.items(), strict=False):
        panel = panel.with_target(_query(query, legend, ref))
    return panel


def _query(query: str, legend: str, ref: str) -> prometheus.Dataquery:
    return prometheus.Dataquery().expr(query).legend_format(legend).ref_id(ref).datasource(SOURCE)


def _thresholds(bad_from: float | None) -> dashboard.ThresholdsConfig:
    steps = [models.Threshold(value=None, color="green")]
    if bad_from is not None:
        steps.append(models.Threshold(value=bad_from, color="red"))
    return dashboard.ThresholdsConfig().mode(models.ThresholdsMode.ABSOLUTE).steps(steps)
