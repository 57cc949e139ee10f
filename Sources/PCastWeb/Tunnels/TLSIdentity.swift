internal import NIOSSL

/// The certificate, with its chain, and the key of a TLS server.
public struct TLSIdentity: Sendable {
    let context: NIOSSLContext

    /// - Parameters:
    ///   - certificate: a file in PEM: the server's own certificate, then those that it is signed by.
    ///   - key: a file in PEM.
    /// - Throws: `WebError.certificate`.
    public init(certificate: String, key: String) throws(WebError) {
        do {
            let chain = try NIOSSLCertificate.fromPEMFile(certificate)
            guard !chain.isEmpty else { throw WebError.certificate("\(certificate) holds no certificate") }
            try self.init(chain, NIOSSLPrivateKey(file: key, format: .pem))
        } catch let error as WebError {
            throw error
        } catch {
            throw .certificate("\(certificate), \(key): \(error)")
        }
    }

    /// - Parameters:
    ///   - certificate: one in DER.
    ///   - key: in DER.
    public init(certificateDER certificate: [UInt8], keyDER key: [UInt8]) throws(WebError) {
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
        // Browsers that speak HTTP/2 are told that we do not.
        configuration.applicationProtocols = ["http/1.1"]
        context = try NIOSSLContext(configuration: configuration)
    }
}
