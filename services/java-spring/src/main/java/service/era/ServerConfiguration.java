package service.era;

import org.springframework.boot.context.embedded.EmbeddedServletContainerCustomizer;
import org.springframework.boot.context.embedded.tomcat.TomcatEmbeddedServletContainerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.web.servlet.config.annotation.PathMatchConfigurer;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurerAdapter;

@Configuration
public class ServerConfiguration extends WebMvcConfigurerAdapter {
    @Bean
    EmbeddedServletContainerCustomizer connections() {
        return container -> ((TomcatEmbeddedServletContainerFactory) container).addConnectorCustomizers(connector -> {
            // The default, 100, has no room for Host beside 100 headers.
            connector.setAttribute("maxHeaderCount", "200");
            // These have no property in Spring Boot 1. Tomcat would close a connection after 100 requests.
            connector.setAttribute("maxKeepAliveRequests", "-1");
            connector.setAttribute("acceptCount", "1000");
        });
    }

    /** By default 1.5 is 1 with the ending .5. */
    @Override
    public void configurePathMatch(PathMatchConfigurer paths) {
        paths.setUseSuffixPatternMatch(false);
    }
}
