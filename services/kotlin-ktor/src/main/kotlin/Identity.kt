package service

import java.io.File
import java.security.KeyFactory
import java.security.KeyStore
import java.security.cert.CertificateFactory
import java.security.spec.PKCS8EncodedKeySpec
import java.util.Base64

const val IDENTITY = "service"

/** The certificates and the key of two PEM files, in the form that Ktor takes: a store without a password, nowhere but in memory. */
fun keyStore(certificateFile: File, keyFile: File): KeyStore {
    val certificates = certificateFile.inputStream().use { CertificateFactory.getInstance("X.509").generateCertificates(it) }
    val key = Base64.getMimeDecoder().decode(keyFile.readText().replace(Regex("-----.*-----"), ""))
    val keys = KeyFactory.getInstance(certificates.first().publicKey.algorithm)
    return KeyStore.getInstance("PKCS12").apply {
        load(null, null)
        setKeyEntry(IDENTITY, keys.generatePrivate(PKCS8EncodedKeySpec(key)), charArrayOf(), certificates.toTypedArray())
    }
}
