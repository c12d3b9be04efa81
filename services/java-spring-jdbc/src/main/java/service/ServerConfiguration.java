package service;

import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.format.FormatterRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@Configuration
public class ServerConfiguration implements WebMvcConfigurer {
    /** Spring's conversion would accept 0x10. */
    @Override
    public void addFormatters(FormatterRegistry registry) {
        registry.addConverter(String.class, Long.class, Long::valueOf);
    }

    /** A JDBC URL has no user, so it is extracted from the URL that other drivers use. */
    @Bean
    @ConfigurationProperties("spring.datasource.hikari")
    HikariDataSource database(@Value("${DATABASE_URL}") URI url) {
        String[] user = url.getUserInfo().split(":", 2);
        HikariDataSource pool = new HikariDataSource();
        pool.setJdbcUrl("jdbc:postgresql://" + url.getHost() + ":" + url.getPort() + url.getPath());
        pool.setUsername(user[0]);
        pool.setPassword(user[1]);
        return pool;
    }

    /** The default of 100 is too small for 100 headers and Host. */
    @Bean
    TomcatConnectorCustomizer headers() {
        return connector -> connector.setProperty("maxHeaderCount", "200");
    }

    /** A number or a boolean in place of a text is a 400, not converted to a text. */
    @Bean
    JsonMapperBuilderCustomizer strictTexts() {
        return builder -> builder.withCoercionConfig(LogicalType.Textual, config -> config
                .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail));
    }
}
