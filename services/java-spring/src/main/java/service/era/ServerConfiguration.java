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
            // The default of 100 is too small for 100 headers and Host.
            connector.setAttribute("maxHeaderCount", "200");
            // Spring Boot 1 has no properties for these. By default, Tomcat closes a connection after 100 requests.
            connector.setAttribute("maxKeepAliveRequests", "-1");
            connector.setAttribute("acceptCount", "1000");
        });
    }

    /** By default, .5 is treated as a file extension of 1.5. */
    @Override
    public void configurePathMatch(PathMatchConfigurer paths) {
        paths.setUseSuffixPatternMatch(false);
    }
}
