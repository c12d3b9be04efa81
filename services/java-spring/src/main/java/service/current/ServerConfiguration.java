package service.current;

import org.springframework.boot.jackson.autoconfigure.JsonMapperBuilderCustomizer;
import org.springframework.boot.tomcat.TomcatConnectorCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.type.LogicalType;

@Configuration
public class ServerConfiguration {
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
