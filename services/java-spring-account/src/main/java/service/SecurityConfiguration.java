package service;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.OctetSequenceKey;
import com.nimbusds.jose.jwk.source.ImmutableJWKSet;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.interfaces.ECPublicKey;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Supplier;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.security.authorization.AuthorizationDecision;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.config.annotation.web.configurers.AbstractHttpConfigurer;
import org.springframework.security.config.http.SessionCreationPolicy;
import org.springframework.security.core.Authentication;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.JwtClaimNames;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.security.web.access.intercept.RequestAuthorizationContext;

@Configuration
public class SecurityConfiguration {
    @Bean
    SecurityFilterChain chain(HttpSecurity http) throws Exception {
        return http.sessionManagement(sessions -> sessions.sessionCreationPolicy(SessionCreationPolicy.STATELESS))
                .csrf(AbstractHttpConfigurer::disable)
                .authorizeHttpRequests(requests -> requests
                        .requestMatchers("/account/{id}", "/account/{id}/deposits")
                        .access(SecurityConfiguration::ownOrAdmin)
                        .anyRequest()
                        .permitAll())
                .oauth2ResourceServer(server -> server.jwt(jwt -> {}))
                .build();
    }

    private static AuthorizationDecision ownOrAdmin(
            Supplier<? extends Authentication> user, RequestAuthorizationContext request) {
        Authentication token = user.get();
        boolean admin = token.getAuthorities().stream()
                .anyMatch(authority -> "SCOPE_admin".equals(authority.getAuthority()));
        return new AuthorizationDecision(
                token.isAuthenticated() && (admin || token.getName().equals(request.getVariables().get("id"))));
    }

    /** A key is chosen by its kind: a public key is never taken for a secret. */
    @Bean
    JwtDecoder tokens(@Value("${JWT_SECRET}") String secret, @Value("${JWT_PUBLIC_KEY}") String pem)
            throws GeneralSecurityException {
        JWKSet keys = new JWKSet(List.of(
                new OctetSequenceKey.Builder(secret.getBytes(StandardCharsets.UTF_8)).build(),
                new ECKey.Builder(Curve.P_256, publicKey(pem)).build()));
        DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
        processor.setJWSKeySelector(new JWSVerificationKeySelector<>(
                Set.of(JWSAlgorithm.HS256, JWSAlgorithm.ES256), new ImmutableJWKSet<>(keys)));
        // The claims are for the decoder's own validators.
        processor.setJWTClaimsSetVerifier((claims, context) -> {});
        NimbusJwtDecoder decoder = new NimbusJwtDecoder(processor);
        decoder.setJwtValidator(new DelegatingOAuth2TokenValidator<>(
                // By default a token lives a minute longer than it says.
                new JwtTimestampValidator(Duration.ZERO),
                new JwtClaimValidator<>(JwtClaimNames.EXP, Objects::nonNull),
                new JwtClaimValidator<>(JwtClaimNames.SUB, Objects::nonNull),
                new JwtIssuerValidator("prony"),
                new JwtClaimValidator<Collection<String>>(
                        JwtClaimNames.AUD, audience -> audience != null && audience.contains("account"))));
        return decoder;
    }

    private static ECPublicKey publicKey(String pem) throws GeneralSecurityException {
        String text = pem.replaceAll("-----[A-Z ]+-----", "");
        byte[] key = Base64.getMimeDecoder().decode(text);
        return (ECPublicKey) KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(key));
    }
}
