"""The words of builtin.yaml that are about jobs and their schedules."""

from __future__ import annotations

import re
import zoneinfo

from ansible_operator.sandbox.builtins import wording as words
from ansible_operator.sandbox.builtins import workloads
from ansible_operator.sandbox.builtins.fields import Field

JOB_LABELS = (
    "batch.kubernetes.io/controller-uid",
    "batch.kubernetes.io/job-name",
    "controller-uid",
    "job-name",
)
"""The labels that pods of a job are known by; the odd ones are its uid, the others its name."""


def restarts_not(field: Field) -> None:
    """Pods that are to end are not always restarted."""
    policy = field.at("spec", "restartPolicy")
    # The default is Always, and whoever did not say anything is told that something is missing.
    if policy.value in (None, "Always"):
        policy.required('valid values: "OnFailure", "Never"')
    elif policy.value not in ("OnFailure", "Never"):
        policy.unsupported(("OnFailure", "Never"))


def job(field: Field) -> None:
    """What belongs together in a job."""
    if field.get("backoffLimitPerIndex") is not None and field.get("completionMode") != "Indexed":
        field.at("backoffLimitPerIndex").invalid("requires indexed completion mode")
    if field.get("completionMode") == "Indexed" and field.get("completions") is None:
        field.at("completions").required("when completion mode is Indexed")


def generated_selector(field: Field) -> None:
    """A job selects its own pods only."""
    spec, meta = field.at("spec"), field.at("metadata")
    found = spec.at("selector")
    if found.value is None:
        found.required()
    else:
        words.selector(found)
    if not spec.get("manualSelector"):
        name, uid = meta.get("name"), meta.get("uid")
        carried = spec.at("template", "metadata", "labels")
        for label, wanted in zip(JOB_LABELS, (uid, name) * 2, strict=True):
            if (carried.value or {}).get(label) != wanted:
                place = Field(carried.value, None, carried, f"[{label}]", field.causes)
                place.invalid(f"must be '{wanted}'")
        if found.value != {"matchLabels": {JOB_LABELS[0]: uid}}:
            found.invalid("`selector` not auto-generated")
    workloads.matches_template(found)


def job_template(field: Field) -> None:
    """The jobs of a cron job get their selectors by themselves."""
    spec = field.at("spec")
    if spec.get("manualSelector"):
        spec.at("manualSelector").unsupported(("nil", "false"))
    if spec.get("selector") is not None:
        spec.at("selector").invalid("`selector` will be auto-generated")


def fixed_completions(field: Field) -> None:
    """How often a job runs can only change together with its width, and only if it is indexed."""
    if not field.differs():
        return
    spec = field.above
    together = spec.get("completions") == spec.get("parallelism")
    if spec.get("completionMode") != "Indexed" or not together:
        field.invalid(words.FIXED)


def fixed_template(field: Field) -> None:
    """The pods of a job stay as they are, unless it waits and has not begun."""
    job = field.top
    waits = job.old.get("spec", {}).get("suspend")
    if field.differs() and not (waits and not job.old.get("status", {}).get("startTime")):
        field.invalid(words.FIXED)


def time_zone(field: Field) -> None:
    """A time zone by its name."""
    if not field.value:
        field.invalid("timeZone must be nil or non-empty string")
    elif field.value.lower() == "local":
        told = "timeZone must be an explicit time zone as defined in "
        field.invalid(told + "https://www.iana.org/time-zones")
    elif field.value not in zoneinfo.available_timezones():
        field.invalid(f"unknown time zone {field.value}")


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


_BOUNDS: tuple[tuple[int, int, tuple[str, ...]], ...] = (
    (0, 59, ()),
    (0, 23, ()),
    (1, 31, ()),
    (1, 12, _MONTHS),
    (0, 6, _DAYS),
)


_DESCRIPTORS = ("yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly")


def schedule(field: Field) -> None:
    """When a cron job runs."""
    text = field.value
    if "TZ" in text:
        return field.invalid("cannot use TZ or CRON_TZ in schedule, use timeZone field instead")
    if wrong := _wrong_schedule(text):
        field.invalid(wrong)
    return None


def _wrong_schedule(text: str) -> str:
    if text.startswith("@every "):
        whole = re.fullmatch(r"@every [+-]?([0-9.]+(h|m|s|ms|us|µs|ns))+", text)
        return "" if whole else f"failed to parse duration {text}: time: invalid duration"
    if text.startswith("@"):
        return "" if text[1:] in _DESCRIPTORS else f"unrecognized descriptor: {text}"
    fields = text.split()
    if len(fields) != 5:
        return f"expected exactly 5 fields, found {len(fields)}: [{' '.join(fields)}]"
    for found, bounds in zip(fields, _BOUNDS, strict=True):
        for part in found.split(","):
            if part and (wrong := _wrong_range(part, *bounds)):
                return wrong
    return ""


def _wrong_range(part: str, least: int, most: int, named: tuple[str, ...]) -> str:
    """What is wrong with ``3``, ``*``, ``1-5``, ``*/2`` or ``MON-FRI/2``."""
    span, *steps = part.split("/")
    ends = span.split("-")
    if ends[0] in ("*", "?"):
        first, last = least, most
        if len(ends) > 1:
            return f"too many hyphens: {part}"
    else:
        numbers = [_cron_number(end, named) for end in ends[:2]]
        for number in numbers:
            if isinstance(number, str):
                return number
        if len(ends) > 2:
            return f"too many hyphens: {part}"
        first, last = int(numbers[0]), int(numbers[-1])
        last = most if steps and len(ends) == 1 else last
    if len(steps) > 1:
        return f"too many slashes: {part}"
    step = _cron_number(steps[0], ()) if steps else 1
    if isinstance(step, str):
        return step
    return _beyond(part, (first, last, step), least, most)


def _beyond(part: str, span: tuple[int, int, int], least: int, most: int) -> str:
    first, last, step = span
    if first < least:
        return f"beginning of range ({first}) below minimum ({least}): {part}"
    if last > most:
        return f"end of range ({last}) above maximum ({most}): {part}"
    if first > last:
        return f"beginning of range ({first}) beyond end of range ({last}): {part}"
    return f"step of range should be a positive number: {part}" if step == 0 else ""


def _cron_number(text: str, named: tuple[str, ...]) -> int | str:
    """The number, or what the server says if it is none."""
    if text.lower() in named:
        # Months begin with 1, days of the week with 0.
        return named.index(text.lower()) + (named is _MONTHS)
    if not re.fullmatch("[+-]?[0-9]+", text, re.ASCII):
        told = f'strconv.Atoi: parsing "{text}": invalid syntax'
        return f"failed to parse int from {text}: {told}"
    number = int(text)
    return number if number >= 0 else f"negative number ({number}) not allowed: {text}"
