package service;

import io.netty.channel.EventLoopGroup;
import io.netty.util.AsciiString;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.concurrent.TimeUnit;

/** The value of the header Date, written once a second. */
final class CurrentDate {
    private static final DateTimeFormatter FORMAT =
            DateTimeFormatter.ofPattern("EEE, dd MMM yyyy HH:mm:ss 'GMT'", Locale.ROOT);

    private volatile CharSequence text = write();

    CurrentDate(EventLoopGroup group) {
        group.next().scheduleAtFixedRate(() -> text = write(), 1, 1, TimeUnit.SECONDS);
    }

    CharSequence now() {
        return text;
    }

    private static CharSequence write() {
        return new AsciiString(FORMAT.format(ZonedDateTime.now(ZoneOffset.UTC)));
    }
}
