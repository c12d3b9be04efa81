package service.era;

import org.springframework.boot.web.embedded.tomcat.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class ServerConfiguration {
    /** The default, 100, has no room for Host beside 100 headers. */
    @Bean
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> headers() {
        return factory -> factory.addConnectorCustomizers(
                connector -> connector.setAttribute("maxHeaderCount", "200"));
    }
}
