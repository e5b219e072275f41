/* test_codeact.c - what a message in CodeAct mode says: code, or an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/codeact.h"

#define PY(code) "```python\n" code "\n```\n"

enum { CUT_OFF = 1, INVENTED = 2, UNCLOSED = 4 };

/* A row's text was stopped by its author, but for CUT_OFF. */
static const struct {
    const char *what;
    const char *text;
    const char *code;   /* NULL: none */
    const char *answer; /* NULL: none, it is not final */
    unsigned flags;
} rows[] = {
    /* fences */
    { "a fence", "Thought: x\n" PY("print(1)") "Good.", "print(1)", NULL, 0 },
    { "py", "```py\n1\n```", "1", NULL, 0 },
    { "Python", "```Python\n1\n```", "1", NULL, 0 },
    { "python3", "```python3\n1\n```", "1", NULL, 0 },
    { "ipython", "```ipython\n1\n```", "1", NULL, 0 },
    { "IPython3", "```IPython3\n1\n```", "1", NULL, 0 },
    { "tildes", "~~~python\n1\n~~~", "1", NULL, 0 },
    { "backticks within tildes", "~~~py\nx = 1\n```\n~~~", "x = 1\n```", NULL,
      0 },
    { "four backticks, closed by five", "````python\n1\n`````", "1", NULL, 0 },
    { "three do not close four", "````python\n'''\n```\n'''\n````",
      "'''\n```\n'''", NULL, 0 },
    { "a language in braces", "```{python}\n1\n```", "1", NULL, 0 },
    { "in braces with a point", "``` {.python .cell}\n1\n```", "1", NULL, 0 },
    { "attributes behind", "```python title=\"x\" {1}\n1\n```", "1", NULL, 0 },
    { "blanks before the language", "```   python  \n1\n```  \n", "1", NULL,
      0 },
    { "pythonic is no Python", "```pythonic\nx = 1\n```", NULL,
      "```pythonic\nx = 1\n```", 0 },
    { "three blanks before", "   ```python\n   x\n   ```", "x", NULL, 0 },
    { "four blanks are text", "a\n\n    ```python\n    x\n    ```\n", NULL,
      "a\n\n    ```python\n    x\n    ```", 0 },
    { "in an item of a list",
      "1. First\n\n   ```python\n   if a:\n       b\n   ```\n2. Then",
      "if a:\n    b", NULL, 0 },
    { "in an item of an item", "- a\n  - b\n    ```py\n    x\n    ```", "x",
      NULL, 0 },
    { "behind the item's mark", "- ```python\n  x\n  ```\n- y", "x", NULL, 0 },
    { "of another language behind the item's mark",
      "- ```json\n  {}\n  ```\n" PY("x"), "x", NULL, 0 },
    { "in an item, its code not indented",
      "10. a\n    ```python\nif a:\n  b\n    ```", "if a:\n  b", NULL, 0 },
    { "behind text on its line", "Code: ```python\nx\n```\n", "x", NULL, 0 },
    { "code in one line of text is prose", "Use ```python x``` here", NULL,
      "Use ```python x``` here", 0 },
    { "the closing one glued to code closes nothing",
      "```python\nx = 1```\ny\n```", "x = 1```\ny", NULL, 0 },
    { "CRLF", "```python\r\na\r\nb\r\n```\r\n", "a\nb", NULL, 0 },
    { "CR", "```python\ra\rb\r```\r", "a\nb", NULL, 0 },
    { "several, in order", PY("a = 1") "and\n" PY("b = 2"), "a = 1\n\nb = 2",
      NULL, 0 },
    { "prose between two is not run", PY("a") "so, greedily:\n" PY("b"),
      "a\n\nb", NULL, 0 },
    { "empty ones count for nothing", "```python\n\n```\nHello", NULL, "Hello",
      0 },
    { "empty lines at its ends", "```python\n\n  \nx\n\n\n```", "x", NULL, 0 },
    { "a comment is code", PY("# nothing"), "# nothing", NULL, 0 },
    { "one that was not closed before the next",
      "```python\na = 1\n```python\nb = 2\n```", "a = 1\n\nb = 2", NULL, 0 },

    /* tags and fences side by side */
    { "a fence that illustrates beside tags",
      "Like this:\n" PY("no()") "Now:\n<execute>\nyes()\n</execute>\n", "yes()",
      NULL, 0 },
    { "one that illustrates beside tags",
      "<execute>yes()</execute>\nThat was\n" PY("no()"), "yes()", NULL, 0 },
    { "an empty tag beside a fence", "<execute></execute>\n" PY("yes()"),
      "yes()", NULL, 0 },

    /* broken at the end */
    { "a solution whose closing tag is broken", "<solution>42</soluti", NULL,
      "42", 0 },
    { "emphasis that ends alone on its line", "*FINAL ANSWER\n\n*\n\nfour",
      NULL, "four", 0 },
    { "a lone broken tag behind an answer", "FINAL ANSWER: 42\n</exec", NULL,
      "42", 0 },
    { "code whose closing tag is broken", "<execute>\nprint(1)\n</execute",
      "print(1)", NULL, 0 },
    { "no tag of ours", "It is a < b</b", NULL, "It is a < b</b", 0 },
    { "a comparison", "It is a </", NULL, "It is a", 0 },

    /* without any mark */
    { "nothing but Python", "import math\nprint(math.pi)\n",
      "import math\nprint(math.pi)", NULL, 0 },
    { "nothing but Python behind reasoning", "<think>hm</think>\nprint(1)",
      "print(1)", NULL, 0 },
    { "a sentence that names a call", "I used print(1) for it.", NULL,
      "I used print(1) for it.", 0 },
    { "a closing tag behind it", "print(1)\n</execute>", "print(1)", NULL, 0 },
    { "a closing tag alone", "</execute>", NULL, NULL, 0 },
    { "a closing tag behind an answer", "It is 4.</execute>", NULL, "It is 4.",
      0 },
    { "one line that may be an answer", "x = 5", NULL, "x = 5", 0 },
    { "a number alone is an answer", "42", NULL, "42", 0 },
    { "a name alone is an answer", "Paris", NULL, "Paris", 0 },

    /* other languages */
    { "JSON before it", "```json\n{\"a\": 1}\n```\nand\n" PY("x"), "x", NULL,
      0 },
    { "JSON that is not closed", "```json\n{}\n\n" PY("x"), "x", NULL, 0 },
    { "JSON that never ends and an answer", "```json\n{}\nFINAL ANSWER: 5",
      NULL, "5", 0 },
    { "bash only", "Run:\n```bash\npip install x\n```", NULL,
      "Run:\n```bash\npip install x\n```", 0 },
    { "Python as an example in Markdown",
      "````markdown\n```python\nx\n```\n````", NULL,
      "````markdown\n```python\nx\n```\n````", 0 },
    { "the same with three marks", "```md\n```python\nx\n```\nok", NULL,
      "```md\n```python\nx\n```\nok", 0 },
    { "tags in another language",
      "```xml\n<execute>x</execute>\n```\nFINAL ANSWER: 1", NULL, "1", 0 },

    /* without a language */
    { "bare, and it looks like Python", "```\nx = 2\nprint(x)\n```",
      "x = 2\nprint(x)", NULL, 0 },
    { "bare, with an import", "Now:\n```\nimport os\n```", "import os", NULL,
      0 },
    { "bare, a number", "It is\n```\n42\n```", NULL, "It is\n```\n42\n```", 0 },
    { "bare, prose", "```\nFor you and me.\n```", NULL,
      "```\nFor you and me.\n```", 0 },
    { "bare, shell", "```\npip install numpy\n```", NULL,
      "```\npip install numpy\n```", 0 },
    { "bare, cut off in a bracket", "```\nprint(1\n```", NULL,
      "```\nprint(1\n```", 0 },
    { "bare beside one that says Python", "```\nx = 1\n```\n" PY("y"), "y",
      NULL, 0 },
    { "bare beside an answer", "```\nx = 1\n```\nFINAL ANSWER: 2", NULL, "2",
      0 },
    { "bare behind an answer", "FINAL ANSWER: run\n```\nx = 1\n```\nOutput: 1",
      NULL, "run\n```\nx = 1\n```\nOutput: 1", 0 },
    { "bare, never closed", "```\nx = 1", "x = 1", NULL, 0 },
    { "bare, cut off", "```\nx = 1", NULL, NULL, CUT_OFF | UNCLOSED },
    { "a lone fence, then a tag", "```\n<execute>x</execute>", "x", NULL, 0 },
    { "a lone fence, then Python", "```\nwell\n" PY("x"), "x", NULL, 0 },

    /* tags */
    { "execute", "<execute>\nprint(1)\n</execute>", "print(1)", NULL, 0 },
    { "execute in one line", "Now <execute> print(1) </execute>.", "print(1)",
      NULL, 0 },
    { "execute twice, prose between",
      "<execute>a</execute> and <execute>b</execute>", "a\n\nb", NULL, 0 },
    { "code", "<code>\nprint(1)\n</code>", "print(1)", NULL, 0 },
    { "python", "<python>\nprint(1)\n</python>\n", "print(1)", NULL, 0 },
    { "code in HTML", "Call <code>f()</code> and\n<code>g()</code> later.",
      NULL, "Call <code>f()</code> and\n<code>g()</code> later.", 0 },
    { "its closing tag was a stop sequence", "<execute>\nprint(1)\n",
      "print(1)", NULL, 0 },
    { "so was that of code", "<code>\nprint(1)\n", "print(1)", NULL, 0 },
    { "a fence in tags", "<execute>\n" PY("x = 1") "</execute>", "x = 1", NULL,
      0 },
    { "tags in a fence", PY("<execute>\nx = 1\n</execute>"), "x = 1", NULL, 0 },
    { "a closing tag in a string", "<execute>\ns = \"</execute>\"\n</execute>",
      "s = \"</execute>\"", NULL, 0 },
    { "a closing tag in a comment", "<execute>x = 1 # now </execute> ok",
      "x = 1 # now", NULL, 0 },
    { "a tag that is only spoken of",
      "I put it in <execute> tags.\n<execute>\nx\n</execute>", "x", NULL, 0 },
    { "a tag in quotes", "Use `<execute>` tags.\nFINAL ANSWER: 1", NULL, "1",
      0 },
    { "spoken of at the end", "I use <execute> tags to show my code.", NULL,
      "I use <execute> tags to show my code.", 0 },

    /* marks in strings */
    { "a fence in a string",
      PY("s = \"\"\"\n```\n```python\nx\n```\n\"\"\"\nprint(s)"),
      "s = \"\"\"\n```\n```python\nx\n```\n\"\"\"\nprint(s)", NULL, 0 },
    { "then another block", PY("s = '''\n```\n'''") PY("t = 2"),
      "s = '''\n```\n'''\n\nt = 2", NULL, 0 },
    { "a string that never ends", PY("s = '''") "Hello\n" PY("x"),
      "s = '''\n\nx", NULL, 0 },
    { "a bracket that never ends", PY("f(") "Hello\n" PY("x"), "f(\n\nx", NULL,
      0 },
    { "think in a string", PY("s.split('</think>')"), "s.split('</think>')",
      NULL, 0 },

    /* prompts */
    { "prompts", "```pycon\n>>> x = 1\n>>> x\n1\n>>> y\n```", "x = 1\nx\ny",
      NULL, 0 },
    { "prompts over lines",
      PY(">>> for i in x:\n...     f(i)\n...\n0\n... no\n>>> 1"),
      "for i in x:\n    f(i)\n\n1", NULL, 0 },

    /* never closed */
    { "a fence at the end", "```python\nprint(1)\n", "print(1)", NULL, 0 },
    { "and the text was cut off", "```python\nprint(1)\n", NULL, NULL,
      CUT_OFF | UNCLOSED },
    { "in a string", "```python\nprint('''1", NULL, NULL, UNCLOSED },
    { "in a bracket", "```python\nprint(1", NULL, NULL, UNCLOSED },
    { "before a body", "```python\nif x:", NULL, NULL, UNCLOSED },
    { "behind one that was closed", PY("a") "```python\nb(", "a", NULL,
      UNCLOSED },
    { "before an answer", "```python\nprint(1)\nFINAL ANSWER: 42", "print(1)",
      NULL, 0 },
    { "before an observation", "```python\nprint(1)\nObservation:\n1",
      "print(1)", NULL, INVENTED },
    { "an answer before it is not final", "FINAL ANSWER: 1\n```python\nf(",
      NULL, NULL, UNCLOSED },

    /* reasoning */
    { "think with code", "<think>\n" PY("no") "</think>\n" PY("yes"), "yes",
      NULL, 0 },
    { "thinking, thought, reasoning",
      "<thinking>" PY("a") "</thinking><thought>FINAL ANSWER: 1</thought>"
                           "<Reasoning>c</Reasoning>It is 2.",
      NULL, "It is 2.", 0 },
    { "only the closing tag", "Let me.\n" PY("no") "</think>\n" PY("yes"),
      "yes", NULL, 0 },
    { "only the closing tag, and an observation before it",
      PY("no") "Output:\n1\n</think>\nFINAL ANSWER: 3", NULL, "3", 0 },
    { "only the closing tag, of a model's own",
      "FINAL ANSWER: 1\n</thought>\nFINAL ANSWER: 2", NULL, "2", 0 },
    { "a closing tag too many", "<think>a</think>" PY("x") "</think>\nEnd.",
      "x", NULL, 0 },
    { "a closing tag at the end", "<think>a</think>It is 2.</think>", NULL,
      "It is 2.", 0 },
    { "think in think", "<think>a <think> b</think> no\n</think>\nYes.", NULL,
      "Yes.", 0 },
    { "never closed, stopped", "<think>I should:\n" PY("x"), "x", NULL, 0 },
    { "never closed, cut off", "<think>I should:\n" PY("x"), NULL, NULL,
      CUT_OFF },
    { "reasoning only", "<think>It is 4.</think>\n", NULL, NULL, 0 },

    /* observations */
    { "an observation that it made up",
      PY("a") "Observation:\n1\n\n" PY("b") "FINAL ANSWER: 1", "a", NULL,
      INVENTED },
    { "in bold", PY("a") "**Observation:** 1\n" PY("b"), "a", NULL, INVENTED },
    { "as a heading", PY("a") "### Observation\n1\n" PY("b"), "a", NULL,
      INVENTED },
    { "an output", PY("a") "\nOutput:\n```\n1\n```\n" PY("b"), "a", NULL,
      INVENTED },
    { "of an executor", PY("a") "[Executed Successfully]\n" PY("b"), "a", NULL,
      INVENTED },
    { "behind bare Python",
      "```\nx = f(1)\n```\nObservation: 1\nFINAL ANSWER: 1", "x = f(1)", NULL,
      INVENTED },
    { "the word in prose", "Observation: sales fall.\n" PY("x"), "x", NULL, 0 },
    { "the word in an answer",
      "FINAL ANSWER: two.\nObservation: one is odd.\nOutput: none.", NULL,
      "two.\nObservation: one is odd.\nOutput: none.", 0 },
    { "the word in a sentence", PY("a") "My Observation: x\n" PY("b"), "a\n\nb",
      NULL, 0 },
    { "the word without a colon", PY("a") "Observation of\n" PY("b"), "a\n\nb",
      NULL, 0 },
    { "the word in code", PY("x = '''\nObservation:\n'''"),
      "x = '''\nObservation:\n'''", NULL, 0 },
    { "an example in prose", "Input:\n```\na b\n```\nOutput:\n```\nc\n```",
      NULL, "Input:\n```\na b\n```\nOutput:\n```\nc\n```", 0 },

    /* answers */
    { "final answer", "Thought: I know.\nFINAL ANSWER: 42\n", NULL, "42", 0 },
    { "over lines", "FINAL ANSWER:\n1. a\n\n2. b\n", NULL, "1. a\n\n2. b", 0 },
    { "lower case", "final answer: 5", NULL, "5", 0 },
    { "with an underscore", "FINAL_ANSWER: 5", NULL, "5", 0 },
    { "the label in bold", "**FINAL ANSWER:** 5", NULL, "5", 0 },
    { "bold before the colon", "**Final Answer**: 5", NULL, "5", 0 },
    { "all in bold", "**FINAL ANSWER: 5**\nAs shown.", NULL, "5\nAs shown.",
      0 },
    { "bold with a blank", "**Final answer: ** 5", NULL, "5", 0 },
    { "the answer in bold", "FINAL ANSWER: **5**", NULL, "**5**", 0 },
    { "a heading", "## Final Answer\n\n5", NULL, "5", 0 },
    { "a heading in bold", "### **Final Answer:**\n5", NULL, "5", 0 },
    { "full width",
      "FINAL ANSWER\xef\xbc\x9a"
      "5",
      NULL, "5", 0 },
    { "in Chinese",
      "**\xe6\x9c\x80\xe7\xbb\x88\xe7\xad\x94\xe6\xa1\x88**\xef\xbc\x9a"
      "5",
      NULL, "5", 0 },
    { "behind a sentence", "I know it. FINAL ANSWER: 5", NULL, "5", 0 },
    { "the words in a sentence", "The final answer: soon.\nBye", NULL,
      "The final answer: soon.\nBye", 0 },
    { "the label in quotes", "I end with \"FINAL ANSWER: x\".", NULL,
      "I end with \"FINAL ANSWER: x\".", 0 },
    { "the last of two", "FINAL ANSWER: 1\nNo.\nFINAL ANSWER: 2", NULL, "2",
      0 },
    { "nothing behind the label", "It is 5.\nFINAL ANSWER:\n", NULL, "It is 5.",
      0 },
    { "a solution", "So <solution> 42 </solution>, rounded.", NULL, "42", 0 },
    { "a solution in an answer", "FINAL ANSWER: <solution>42</solution>", NULL,
      "42", 0 },
    { "a solution that is code",
      "<solution>\n" PY("def f(): pass") "</solution>", NULL,
      "```python\ndef f(): pass\n```", 0 },
    { "a solution that is never closed", "<solution>\n42", NULL, "42", 0 },
    { "a solution only spoken of",
      "In <solution> tags, "
      "later.\n<execute>x</execute>\n<solution>1</solution>",
      "x", NULL, 0 },
    { "code and then an answer", PY("x") "FINAL ANSWER: 42", "x", NULL, 0 },
    { "an answer and then code", "FINAL ANSWER: 42\n" PY("x"), "x", NULL, 0 },
    { "an answer that code prints", PY("print(\"FINAL ANSWER: 42\")"),
      "print(\"FINAL ANSWER: 42\")", NULL, 0 },
    { "final_answer() is code", PY("final_answer(42)"), "final_answer(42)",
      NULL, 0 },
    { "neither", " Hello, how are you?\n", NULL, "Hello, how are you?", 0 },
    { "nothing", "", NULL, NULL, 0 },
    { "white space", " \r\n\t", NULL, NULL, 0 },
};

static void check_text(const char *what, const char *name,
                       const struct buf *got, const char *expected)
{
    if (!view_is(buf_view(got), expected != NULL ? expected : ""))
        fail_msg("%s: %s is \"%.*s\"", what, name, VIEW_ARG(buf_view(got)));
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct codeact_rules rules = { .stopped = !(rows[i].flags & CUT_OFF) };
        struct codeact said;

        codeact_read(&said, view_of(rows[i].text), &rules);
        check_text(rows[i].what, "the code", &said.code, rows[i].code);
        check_text(rows[i].what, "the answer", &said.answer, rows[i].answer);
        if (said.final != (rows[i].answer != NULL))
            fail_msg("%s: final is %d", rows[i].what, said.final);
        if (said.invented != ((rows[i].flags & INVENTED) != 0))
            fail_msg("%s: invented is %d", rows[i].what, said.invented);
        if (said.unclosed != ((rows[i].flags & UNCLOSED) != 0))
            fail_msg("%s: unclosed is %d", rows[i].what, said.unclosed);
        if (said.invented != (said.cut < strlen(rows[i].text)))
            fail_msg("%s: cut is %zu", rows[i].what, said.cut);
        codeact_finish(&said);
    }
}

/* Refuses code that holds "wrong". */
static bool parses(void *owner, struct view code)
{
    size_t *asked = owner;

    ++*asked;
    return code.len == 0 || memmem(code.data, code.len, "wrong", 5) == NULL;
}

static void test_parser(void **state)
{
    size_t asked = 0;
    struct codeact_rules rules = { parses, &asked, true };
    struct codeact said;

    (void)state;
    codeact_read(&said, VIEW(PY("right") "and\n```python\nwrong"), &rules);
    check_text("one that parses", "the code", &said.code, "right");
    assert_true(said.unclosed);
    assert_true(asked >= 2);
    codeact_finish(&said);
    codeact_read(&said, VIEW(PY("wrong") "x\n```\n"), &rules);
    check_text("none parses: the first mark", "the code", &said.code, "wrong");
    codeact_finish(&said);
    codeact_finish(NULL);
}

static void test_no_rules(void **state)
{
    struct codeact said;

    (void)state;
    codeact_read(&said, (struct view){ 0 }, NULL);
    assert_false(said.final);
    codeact_finish(&said);
    codeact_read(&said, VIEW("```python\n1"), NULL);
    assert_true(said.unclosed);
    codeact_finish(&said);
}

static void test_any_bytes(void **state)
{
    static const char text[] = "\xff\0\n```python\nx = '\0\xc3'\n```\n\0";
    struct codeact said;

    (void)state;
    codeact_read(&said, (struct view){ text, sizeof(text) - 1 }, NULL);
    assert_int_equal(said.code.len, 8);
    assert_memory_equal(said.code.data, "x = '\0\xc3'", 8);
    codeact_finish(&said);
}

/* A lot of what makes naive parsers slow: they would take longer than this
 * test has. */
static void test_long(void **state)
{
    static const char *const pieces[] = {
        "`",
        "```\n",
        "```x\n",
        "```py\n'''\n```\n",
        "```py\n\"\"\"\n```\n```py\n'''\n```\n",
        "<execute>",
        "<execute>#",
        "<execute>'''</execute>",
        "<think>",
        "</think>",
        "<solution>",
        "<code>x</code> y\n",
        "~~~ ",
        "~~~python ",
        "- ",
        "(",
        "\r",
        "FINAL ANSWER: ",
        "**FINAL ANSWER: 1\n",
        "```\nx = '''\n",
        "Observation:\n",
        "a ```python\n(\n",
        "\0",
        ">>> ",
    };
    enum { LONG = 96 << 10 };

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        size_t len = pieces[i][0] == '\0' ? 1 : strlen(pieces[i]);
        CLEANUP(buf_finish) struct buf text = { .max = LONG };
        struct codeact_rules rules = { .stopped = true };
        struct codeact said;

        while (buf_append(&text, pieces[i], len))
            ;
        codeact_read(&said, buf_view(&text), &rules);
        assert_true(said.code.len <= text.len);
        codeact_finish(&said);
        rules.stopped = false;
        codeact_read(&said, buf_view(&text), &rules);
        assert_true(said.answer.len <= text.len);
        codeact_finish(&said);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),     cmocka_unit_test(test_parser),
        cmocka_unit_test(test_no_rules), cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
