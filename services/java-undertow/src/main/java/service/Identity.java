package service;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;

/** The certificates of TLS_CERT and the key of TLS_KEY, in the form that the JDK's TLS takes. */
final class Identity {
    /** Of a store that is nowhere but in memory. */
    static final String PASSWORD = "";

    private Identity() {}

    static KeyStore keyStore() throws GeneralSecurityException, IOException {
        Certificate[] certificates;
        try (InputStream file = Files.newInputStream(Path.of(System.getenv("TLS_CERT")))) {
            certificates = CertificateFactory.getInstance("X.509").generateCertificates(file).toArray(Certificate[]::new);
        }
        String pem = Files.readString(Path.of(System.getenv("TLS_KEY")));
        byte[] key = Base64.getMimeDecoder().decode(pem.replaceAll("-----.*-----", ""));
        KeyFactory keys = KeyFactory.getInstance(certificates[0].getPublicKey().getAlgorithm());
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry(
                "service", keys.generatePrivate(new PKCS8EncodedKeySpec(key)), PASSWORD.toCharArray(), certificates);
        return store;
    }
}
