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
    /** Spring's own conversion takes 0x10 for a number. */
    @Override
    public void addFormatters(FormatterRegistry registry) {
        registry.addConverter(String.class, Long.class, Long::valueOf);
    }

    /** A URL of JDBC holds no user: it is taken out of the one that other drivers understand. */
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

    /** The default, 100, has no room for Host beside 100 headers. */
    @Bean
    TomcatConnectorCustomizer headers() {
        return connector -> connector.setProperty("maxHeaderCount", "200");
    }

    /** A number or a boolean where a text belongs is a 400, not a text. */
    @Bean
    JsonMapperBuilderCustomizer strictTexts() {
        return builder -> builder.withCoercionConfig(LogicalType.Textual, config -> config
                .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail));
    }
}
