import COpenSSL
public import PCastMedia

/// DTLS 1.2 by OpenSSL on virtual time (RFC 6347).
///
/// OpenSSL's own clock never runs: its timer is an hour long. The last flight is kept here and sent again when the time
/// that this machine is told says so, and the final flight whenever a late handshake record shows that the peer did not
/// get it (DTLS2, DTLS6). Each datagram goes through the full handshake, which reassembles messages in any order; there
/// is no cookie exchange, for ICE has verified the address (DTLS1).
public final class OpenSSLHandshake: DTLSHandshake {
    /// The largest datagram made, in bytes (DTLS4).
    static let datagramSize = 1200

    /// A handshake that leads nowhere is given up.
    private static let patience = TimeSpan.seconds(30)
    private static let firstTimeout = TimeSpan.milliseconds(50)
    private static let longestTimeout = TimeSpan.seconds(2)

    /// Datagrams that wait; the oldest is dropped when full, and comes again with its flight.
    private static let queueLimit = 32

    public private(set) var state = DTLSState.new

    /// The round trip to the peer where it is known: the first repetition waits for two of them.
    public var roundTrip: TimeSpan?

    private let certificate: DTLSCertificate
    private let role: DTLSRole
    private let fingerprints: [DTLSFingerprint]
    private let ssl: OpaquePointer
    private let bio = DatagramBIO()

    private var queue: [[UInt8]] = []
    private var lastFlight: [[UInt8]] = []
    private var nextRepetition: Instant?
    private var timeout = OpenSSLHandshake.firstTimeout
    private var giveUp: Instant?

    /// - Parameter expectedFingerprints: the peer's certificate has to match one (RFC 8122, section 5).
    public init(certificate: DTLSCertificate, role: DTLSRole, expectedFingerprints: [DTLSFingerprint]) {
        self.certificate = certificate
        self.role = role
        fingerprints = expectedFingerprints
        guard let ssl = SSL_new(certificate.context), let bio = bio.makeBIO() else {
            fatalError("out of memory for a DTLS handshake")
        }
        self.ssl = ssl
        SSL_set_bio(ssl, bio, bio)
        pcast_ssl_set_mtu(ssl, Self.datagramSize)
        DTLS_set_timer_cb(ssl) { _, _ in 3_600_000_000 }
        if role == .client { SSL_set_connect_state(ssl) } else { SSL_set_accept_state(ssl) }
    }

    deinit { SSL_free(ssl) }

    // MARK: Input

    public func start(at now: Instant) {
        guard state == .new else { return }
        state = .handshaking
        giveUp = now + Self.patience
        if let roundTrip { timeout = max(Self.firstTimeout, roundTrip * 2) }
        if role == .client { proceed(at: now) }
    }

    public func handle(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        guard !datagram.isEmpty else { return }
        switch state {
        case .new:
            // The peer's first check was answered before ours was seen.
            start(at: now)
            feed(datagram, at: now)
        case .handshaking: feed(datagram, at: now)
        case .established: handleLate(datagram, at: now)
        case .failed, .closed: break
        }
    }

    private func feed(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        bio.incoming = datagram
        defer { bio.incoming = nil }
        proceed(at: now)
    }

    private func proceed(at now: Instant) {
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        let error = SSL_get_error(ssl, result)
        collectFlight(at: now)
        if result == 1 {
            finish()
        } else if error != SSL_ERROR_WANT_READ, error != SSL_ERROR_WANT_WRITE {
            let hasCertificate = !peerCertificate.isEmpty
            fail(hasCertificate || role == .client ? .protocolError(OpenSSLErrors.take()) : refusalReason())
        }
    }

    private func refusalReason() -> DTLSFailure {
        let reason = OpenSSLErrors.take()
        return reason.contains("peer did not return a certificate") ? .noCertificate : .protocolError(reason)
    }

    /// What OpenSSL wrote in one go is one flight, which replaces the one before.
    private func collectFlight(at now: Instant) {
        let flight = bio.takeOutgoing()
        guard !flight.isEmpty else { return }
        lastFlight = flight
        timeout = max(Self.firstTimeout, (roundTrip ?? .zero) * 2)
        nextRepetition = now + timeout
        enqueue(flight)
    }

    private func enqueue(_ flight: [[UInt8]]) {
        queue.append(contentsOf: flight)
        if queue.count > Self.queueLimit { queue.removeFirst(queue.count - Self.queueLimit) }
    }

    // MARK: The end

    private var peerCertificate: [UInt8] {
        guard let certificate = SSL_get1_peer_certificate(ssl) else { return [] }
        defer { X509_free(certificate) }
        return X509Certificate.der(certificate)
    }

    /// The certificate is compared before any key is derived (DTLS9).
    private func finish() {
        nextRepetition = nil
        giveUp = nil
        let certificate = peerCertificate
        guard !certificate.isEmpty else { return fail(.noCertificate) }
        guard fingerprints.contains(where: { $0.matches(certificate) }) else { return fail(.fingerprintMismatch) }
        guard let selected = SSL_get_selected_srtp_profile(ssl),
            let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: selected.pointee.id))
        else { return fail(.noProfile) }
        guard let keys = export(profile) else { return fail(.protocolError("no keying material")) }
        state = .established(keys)
    }

    private func export(_ profile: SRTPProfile) -> SRTPKeyingMaterial? {
        let label = "EXTRACTOR-dtls_srtp"
        var isExported = false
        let exported = [UInt8](unsafeUninitializedCapacity: profile.keyingMaterialLength) { buffer, count in
            isExported =
                SSL_export_keying_material(
                    ssl, buffer.baseAddress, buffer.count, label, label.utf8.count, nil, 0, 0) == 1
            count = isExported ? profile.keyingMaterialLength : 0
        }
        return isExported ? SRTPKeyingMaterial(profile: profile, exported: exported, role: role) : nil
    }

    private func fail(_ failure: DTLSFailure) {
        nextRepetition = nil
        giveUp = nil
        state = .failed(failure)
        ERR_clear_error()
    }

    // MARK: Afterwards

    private enum ContentType {
        static let changeCipherSpec: UInt8 = 20
        static let alert: UInt8 = 21
        static let handshake: UInt8 = 22
    }

    /// A handshake record after the end means that our final flight was lost. Of alerts, only encrypted ones count, for
    /// anyone can send others (DTLS8).
    private func handleLate(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        guard datagram.count >= 13 else { return }
        switch datagram[0] {
        case ContentType.handshake, ContentType.changeCipherSpec:
            // The server's flight ends a full handshake; a client that hears the server again did get it.
            if role == .server { enqueue(lastFlight) }
        case ContentType.alert where datagram[3] != 0 || datagram[4] != 0: readAlert(datagram)
        default: break
        }
    }

    private func readAlert(_ datagram: UnsafeRawBufferPointer) {
        bio.incoming = datagram
        defer { bio.incoming = nil }
        ERR_clear_error()
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { scratch in
            _ = SSL_read(ssl, scratch.baseAddress, Int32(scratch.count))
        }
        ERR_clear_error()
        if SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 { state = .closed }
    }

    public func close() {
        guard case .established = state else { return }
        ERR_clear_error()
        _ = SSL_shutdown(ssl)
        enqueue(bio.takeOutgoing())
        state = .closed
    }

    // MARK: Time and output

    public var deadline: Instant? { Instant.earlier(nextRepetition, giveUp) }

    public func advance(to now: Instant) {
        guard state == .handshaking else { return }
        if let giveUp, now >= giveUp { return fail(.timeout) }
        guard let repetition = nextRepetition, now >= repetition else { return }
        enqueue(lastFlight)
        timeout = min(timeout * 2, Self.longestTimeout)
        nextRepetition = now + timeout
    }

    public func poll(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard !queue.isEmpty else { return nil }
        let datagram = queue.removeFirst()
        buffer.copyBytes(from: datagram)
        return datagram.count
    }
}
