"""fonts.py - glyphs for every script, whatever font a figure asks for.

matplotlib takes missing glyphs from the next font of a list, but styles and scripts
replace that list. So the fallbacks are added at the end of whatever list there is.
"""

import dataclasses
import logging

from matplotlib import font_manager

# What covers Chinese, Japanese and Korean, best first.
WIDE = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "Droid Sans Fallback",
    "Noto Serif CJK SC",
    "Noto Serif CJK JP",
)
# What covers other scripts (Devanagari, Arabic, Hebrew, Bengali, Tamil, Thai) and
# pictographs: each is there for what those before it lack. A font of coloured
# emoji is of no use, matplotlib draws outlines.
OTHERS = (
    "DejaVu Sans",
    "FreeSans",
    "FreeSerif",
    "Noto Sans Devanagari",
    "Noto Sans Arabic",
    "Symbola",
    "Noto Emoji",
)
# Names that scripts ask for on other systems: they get the one that is here.
MISSING = (
    "SimHei",
    "SimSun",
    "NSimSun",
    "Microsoft YaHei",
    "Microsoft JhengHei",
    "KaiTi",
    "FangSong",
    "STHeiti",
    "STSong",
    "STKaiti",
    "Heiti SC",
    "Heiti TC",
    "Songti SC",
    "PingFang SC",
    "PingFang HK",
    "Hiragino Sans GB",
    "Arial Unicode MS",
    "MS Gothic",
    "Yu Gothic",
    "Malgun Gothic",
    "AppleGothic",
    *WIDE,
)

_told = set()  # messages about fonts that the cell has had


def start():
    _told.clear()


def is_first(record):
    """Lets a message pass once: matplotlib repeats it for each text that it draws."""
    sentence = record.getMessage()
    if sentence in _told:
        return False
    _told.add(sentence)
    return True


def install():
    """Gives whether glyphs of all fallbacks can be drawn."""
    logging.getLogger(font_manager.__name__).addFilter(is_first)
    manager = font_manager.fontManager
    by_name = {}
    for entry in manager.ttflist:
        if entry.style == "normal" and entry.weight in (400, "normal", "regular"):
            by_name.setdefault(entry.name, entry)
    wide = next((by_name[name] for name in WIDE if name in by_name), None)
    if wide:
        _rename(manager, wide)
    others = [by_name[name] for name in OTHERS if name in by_name]
    return _add_fallback(manager, [font.fname for font in (wide, *others) if font])


def _rename(manager, wide):
    there = {entry.name for entry in manager.ttflist}
    manager.ttflist += [
        dataclasses.replace(wide, name=name)
        for name in dict.fromkeys(MISSING)
        if name not in there
    ]


def _add_fallback(manager, fallback):
    find = getattr(manager, "_find_fonts_by_props", None)
    if find is None:
        return False

    def find_with_fallback(*args, **kwargs):
        paths = find(*args, **kwargs)
        return [*paths, *(path for path in fallback if path not in paths)]

    manager._find_fonts_by_props = find_with_fallback
    return True
