package service.current;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Collections;
import java.util.Enumeration;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.socket.BinaryMessage;
import org.springframework.web.socket.TextMessage;
import org.springframework.web.socket.WebSocketSession;
import org.springframework.web.socket.config.annotation.EnableWebSocket;
import org.springframework.web.socket.config.annotation.WebSocketConfigurer;
import org.springframework.web.socket.config.annotation.WebSocketHandlerRegistry;
import org.springframework.web.socket.handler.AbstractWebSocketHandler;
import org.springframework.web.socket.server.standard.ServletServerContainerFactoryBean;

/** Each message of a WebSocket comes back; Tomcat answers pings and closes. */
@Configuration
@EnableWebSocket
public class EchoConfiguration implements WebSocketConfigurer {
    private static final String PATH = "/ws/echo";
    private static final int LONGEST_MESSAGE = 1024 * 1024;

    @Override
    public void registerWebSocketHandlers(WebSocketHandlerRegistry registry) {
        registry.addHandler(new Echo(), PATH);
    }

    /** The default is 8 KiB. */
    @Bean
    ServletServerContainerFactoryBean longestMessages() {
        ServletServerContainerFactoryBean container = new ServletServerContainerFactoryBean();
        container.setMaxTextMessageBufferSize(LONGEST_MESSAGE);
        container.setMaxBinaryMessageBufferSize(LONGEST_MESSAGE);
        return container;
    }

    private static final class Echo extends AbstractWebSocketHandler {
        @Override
        protected void handleTextMessage(WebSocketSession session, TextMessage message) throws IOException {
            session.sendMessage(message);
        }

        @Override
        protected void handleBinaryMessage(WebSocketSession session, BinaryMessage message) throws IOException {
            session.sendMessage(message);
        }
    }

    /** Tomcat takes the compression that a client offers: it does not see the offer. */
    @Bean
    FilterRegistrationBean<Uncompressed> uncompressed() {
        FilterRegistrationBean<Uncompressed> filter = new FilterRegistrationBean<>(new Uncompressed());
        filter.addUrlPatterns(PATH, RoomConfiguration.PATH + "*");
        return filter;
    }

    static final class Uncompressed extends HttpFilter {
        @Override
        protected void doFilter(HttpServletRequest request, HttpServletResponse response, FilterChain chain)
                throws IOException, ServletException {
            chain.doFilter(new HttpServletRequestWrapper(request) {
                @Override
                public Enumeration<String> getHeaders(String name) {
                    return name.equalsIgnoreCase("Sec-WebSocket-Extensions")
                            ? Collections.emptyEnumeration()
                            : super.getHeaders(name);
                }
            }, response);
        }
    }
}
