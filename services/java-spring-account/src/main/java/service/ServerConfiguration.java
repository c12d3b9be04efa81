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
}
