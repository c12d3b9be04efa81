package service;

import com.zaxxer.hikari.HikariDataSource;
import java.net.URI;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
public class ServerConfiguration {
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
}
