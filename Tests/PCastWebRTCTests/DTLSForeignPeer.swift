import COpenSSL
import PCastCore

@testable import PCastWebRTC

/// A peer of OpenSSL alone. It drops replayed records, and repeats a flight only on request.
final class DTLSForeignPeer: DTLSHandshake {
    private let context: OpaquePointer
    private let ssl: OpaquePointer
    private let bio = DatagramBIO()
    private let role: DTLSRole
    private var queue: [[UInt8]] = []
    private(set) var isFinished = false

    /// Creates a peer. The profiles of SRTP are in OpenSSL's notation; nil offers none.
    init(
        _ role: DTLSRole, certificate: DTLSCertificate?, profiles: String? = SRTPProfile.openSSLPreference,
        ciphers: String = "DEFAULT", groups: String? = nil
    ) {
        guard let context = SSL_CTX_new(DTLS_method()) else { fatalError("no context") }
        pcast_ssl_ctx_configure_dtls(context)
        SSL_CTX_set_cipher_list(context, ciphers)
        if let groups { precondition(pcast_ssl_ctx_set_groups(context, groups) == 1, "OpenSSL must support \(groups)") }
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER) { _, _ in 1 }
        if let certificate {
            SSL_CTX_use_certificate(context, SSL_CTX_get0_certificate(certificate.context))
            SSL_CTX_use_PrivateKey(context, SSL_CTX_get0_privatekey(certificate.context))
        }
        if let profiles { SSL_CTX_set_tlsext_use_srtp(context, profiles) }
        guard let ssl = SSL_new(context), let bio = bio.makeBIO() else { fatalError("no memory") }
        SSL_set_bio(ssl, bio, bio)
        pcast_ssl_set_mtu(ssl, 1200)
        if role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
        self.context = context
        self.ssl = ssl
        self.role = role
    }

    deinit {
        SSL_free(ssl)
        SSL_CTX_free(context)
    }

    func start(at now: Instant) {
        if role == .client { proceed() }
    }

    func handle(_ datagram: ByteView, at now: Instant) {
        bio.incoming = datagram
        proceed()
        bio.incoming = nil
    }

    private func proceed() {
        ERR_clear_error()
        if isFinished {
            var scratch = [UInt8](repeating: 0, count: 64)
            _ = SSL_read(ssl, &scratch, 64)
        } else {
            isFinished = SSL_do_handshake(ssl) == 1
        }
        ERR_clear_error()
        queue += bio.takeOutgoing()
    }

    func advance(to now: Instant) {}

    func close() {
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        queue += bio.takeOutgoing()
    }

    /// Whether the other end has sent close_notify.
    var hasSeenGoodbye: Bool { SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 }

    var deadline: Instant? { nil }
    var state: DTLSState { isFinished ? .closed : .handshaking }

    func poll(into buffer: MutableByteView) -> Int? {
        guard !queue.isEmpty else { return nil }
        let datagram = queue.removeFirst()
        buffer.copyBytes(from: datagram)
        return datagram.count
    }
}
