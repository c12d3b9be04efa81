package service.current;

import java.io.IOException;
import java.io.InputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

@RestController
public class UploadController {
    private static final long MOST = 20 << 20;

    public record Upload(long bytes, String sha256) {}

    @PostMapping("/upload")
    public Upload upload(InputStream body) throws IOException, NoSuchAlgorithmException {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] piece = new byte[64 * 1024];
        long bytes = 0;
        for (int read; (read = body.read(piece)) >= 0; bytes += read) {
            digest.update(piece, 0, read);
            if (bytes + read > MOST) {
                // Tomcat closes the connection after it.
                throw new ResponseStatusException(HttpStatus.CONTENT_TOO_LARGE);
            }
        }
        return new Upload(bytes, HexFormat.of().formatHex(digest.digest()));
    }
}
