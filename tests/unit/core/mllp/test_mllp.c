#include "core/mllp/mllp.h"

#include "base/auto.h"
#include "test.h"

/* The events of a stream that comes in pieces: "<message>" for each frame, "!" for a stray byte,
 * "|" where the last CR is missing. */
static void events_of(struct str stream, size_t piece, struct buf *ret)
{
    struct mllp_reader r = { 0 };

    for (size_t at = 0; at < stream.len; at += piece) {
        struct str rest =
            str_mem(stream.ptr + at, stream.len - at < piece ? stream.len - at : piece);
        struct str bytes;
        enum mllp_event e;

        while ((e = mllp_next(&r, &rest, &bytes)) != MLLP_MORE && e != MLLP_STRAY)
            if (e == MLLP_BEGIN)
                buf_putc(ret, '<');
            else if (e == MLLP_END)
                buf_putc(ret, '>');
            else
                buf_put(ret, bytes);
        if (e == MLLP_STRAY) {
            buf_putc(ret, '!');
            return;
        }
    }
    if (mllp_is_closing(&r)) {
        buf_putc(ret, '|');
        mllp_end_now(&r);
    }
}

TEST(frames_are_found_whatever_the_pieces)
{
    static const struct {
        const char *what, *stream, *want;
    } cases[] = {
        { "one", "\x0bMSH|a\r\x1c\r", "<MSH|a\r>" },
        { "two",
          "\x0b"
          "a\x1c\r\x0b"
          "b\x1c\r",
          "<a><b>" },
        { "nothing in it", "\x0b\x1c\r", "<>" },
        { "line ends between",
          "\r\n \t\x0b"
          "a\x1c\r\r\n\x0b"
          "b\x1c\r\n",
          "<a><b>" },
        { "LF for the last CR",
          "\x0b"
          "a\x1c\n\x0b"
          "b\x1c\n",
          "<a><b>" },
        { "no last CR, another frame",
          "\x0b"
          "a\x1c\x0b"
          "b\x1c\r",
          "<a><b>" },
        { "no last CR",
          "\x0b"
          "a\x1c",
          "<a|" },
        { "half a frame",
          "\x0b"
          "abc",
          "<abc" },
        { "FS in the message",
          "\x0b"
          "a\x1c"
          "b\x1c\r",
          "<a\x1c"
          "b>" },
        { "two FS in the message",
          "\x0b"
          "a\x1c\x1c"
          "b\x1c\r",
          "<a\x1c\x1c"
          "b>" },
        { "FS before the end",
          "\x0b"
          "a\x1c\x1c\r",
          "<a\x1c>" },
        { "VT in the message",
          "\x0b"
          "a\x0b"
          "b\x1c\r",
          "<a\x0b"
          "b>" },
        { "something before", "GET / HTTP/1.1\r\n", "!" },
        { "something between",
          "\x0b"
          "a\x1c\rX\x0b"
          "b\x1c\r",
          "<a>!" },
        { "FS without a frame", "\x1c\r", "!" },
        { "silence", "", "" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t piece = 1; piece < 8; piece++) {
            AUTO(buf_done) struct buf got = BUF_INIT(1000);

            events_of(str_of(cases[i].stream), piece, &got);
            if (!str_is(buf_view(&got), cases[i].want))
                printf("# %s, %zu: %s\n", cases[i].what, piece, got.ptr);
            CHECK(str_is(buf_view(&got), cases[i].want));
        }
}

/* Content is lent from the piece. */
TEST(nothing_is_copied)
{
    struct mllp_reader r = { 0 };
    struct str stream = STR("\013abc\x1c\r"), rest = stream, bytes;

    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_BEGIN);
    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_BYTES);
    CHECK(bytes.ptr == stream.ptr + 1 && bytes.len == 3);
    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_END && rest.len == 0);
    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_MORE);
}

TEST(a_stray_byte_is_not_taken)
{
    struct mllp_reader r = { 0 };
    struct str rest = STR("\rX"), bytes;

    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_STRAY && str_is(rest, "X"));
    CHECK(mllp_next(&r, &rest, &bytes) == MLLP_STRAY);
}

TEST(a_frame_is_read_as_it_was_written)
{
    AUTO(buf_done) struct buf frame = BUF_INIT(100);
    AUTO(buf_done) struct buf got = BUF_INIT(100);

    mllp_put(&frame, STR("MSH|^~\\&\r"));
    events_of(buf_view(&frame), 3, &got);
    CHECK(str_is(buf_view(&got), "<MSH|^~\\&\r>"));
}

TEST(what_ends_a_frame_cannot_be_in_one)
{
    CHECK(!mllp_has_border(STR("")) && !mllp_has_border(STR("MSH|^~\\&\r\n\t")));
    CHECK(mllp_has_border(STR("\x0b")) && mllp_has_border(STR("a\x1c\r")));
}

int main(void)
{
    return test_main();
}
