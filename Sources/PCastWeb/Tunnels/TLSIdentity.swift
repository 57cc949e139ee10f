internal import NIOSSL

/// The certificate chain and the private key of a TLS server.
package struct TLSIdentity: Sendable {
    let context: NIOSSLContext

    /// Reads PEM files. `certificate` is the path of the server's certificate, followed by those that issued it; `key`
    /// is the path of its key.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(certificate: String, key: String) throws(WebError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate)
            guard !chain.isEmpty else { throw WebError.certificate("\(certificate) contains no certificate") }
            try self.init(chain, NIOSSLPrivateKey(file: key, format: .pem))
        } catch let error as WebError {
            throw error
        } catch {
            throw .certificate("\(certificate), \(key): \(error)")
        }
    }

    /// Creates an identity from a certificate and its key in DER format.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(certificateDER certificate: [UInt8], keyDER key: [UInt8]) throws(WebError) {
        do {
            try self.init(
                [NIOSSLCertificate(bytes: certificate, format: .der)], NIOSSLPrivateKey(bytes: key, format: .der))
        } catch {
            throw .certificate("\(error)")
        }
    }

    private init(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        // ALPN reports to clients that HTTP/2 is not supported.
        configuration.applicationProtocols = ["http/1.1"]
        context = try NIOSSLContext(configuration: configuration)
    }
}
