package service.current;

import org.apache.catalina.connector.Connector;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.boot.tomcat.servlet.TomcatServletWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@Configuration
public class ServerConfiguration {
    /** The default, 100, has no room for Host beside 100 headers. */
    @Bean
    TomcatConnectorCustomizer headers() {
        return connector -> connector.setProperty("maxHeaderCount", "200");
    }

    /** HTTP/2 or HTTP/1.1, as the client prefers. An additional connector gets none of the settings in application.properties. */
    @Bean
    @ConditionalOnProperty("TLS_PORT")
    WebServerFactoryCustomizer<TomcatServletWebServerFactory> tls(
            @Value("${server.address}") String address,
            @Value("${TLS_PORT}") int port,
            @Value("${TLS_CERT}") String certificate,
            @Value("${TLS_KEY}") String key) {
        SSLHostConfig host = new SSLHostConfig();
        SSLHostConfigCertificate identity = new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.UNDEFINED);
        identity.setCertificateFile(certificate);
        identity.setCertificateKeyFile(key);
        host.addCertificate(identity);
        Connector connector = new Connector(TomcatServletWebServerFactory.DEFAULT_PROTOCOL);
        connector.setPort(port);
        connector.setScheme("https");
        connector.setSecure(true);
        connector.setProperty("SSLEnabled", "true");
        connector.setProperty("address", address);
        connector.setProperty("acceptCount", "1000");
        connector.setProperty("maxHeaderCount", "200");
        connector.setProperty("maxKeepAliveRequests", "-1");
        connector.setProperty("compression", "on");
        connector.setProperty("compressibleMimeType", "application/json");
        connector.addSslHostConfig(host);
        Http2Protocol http2 = new Http2Protocol();
        http2.setMaxHeaderCount(200);
        connector.addUpgradeProtocol(http2);
        return factory -> factory.addAdditionalConnectors(connector);
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
