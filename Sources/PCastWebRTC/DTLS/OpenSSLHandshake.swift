import COpenSSL
public import PCastMedia

/// DTLS 1.2 by OpenSSL on virtual time (RFC 6347).
///
/// OpenSSL's own timer decides nothing. The last flight is kept here and sent again when the time that this machine is
/// told says so, and the final flight whenever a late handshake record shows that the peer did not get it (DTLS2, DTLS6).
/// Each datagram goes through the full handshake, which reassembles messages in any order; there is no cookie exchange,
/// for ICE has verified the address (DTLS1).
///
/// A client's Finished is not repeated as a copy where that can be helped: a server that has it drops a copy as a replay
/// (RFC 6347, section 4.1.2.6) and never learns that its own last flight was lost, so OpenSSL makes a new record of it.
///
/// The `SSL` is kept until the peer is seen to have the keys. What is left of it then is the last flight, which a late
/// handshake record asks for again, our goodbye as the record that it will be, and the keys of the peer's (DTLS7): some
/// hundred bytes instead of tens of thousands (FAN3).
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
    private var fingerprints: [DTLSFingerprint]
    /// Nil once it is not needed any more.
    private var ssl: OpaquePointer?
    private let bio = DatagramBIO()
    private var farewell: Farewell?

    /// What is left of the `SSL`.
    private struct Farewell {
        /// Our goodbye.
        let datagrams: [[UInt8]]
        let alerts: DTLSAlertReader
    }

    private var queue: [[UInt8]] = []
    private var lastFlight: [[UInt8]] = []
    private var nextRepetition: Instant?
    private var timeout = OpenSSLHandshake.firstTimeout
    private var giveUp: Instant?
    private var isMismatched = false
    private var recordNumbers = PlaintextRecordNumbers()
    private var finalFlight = ClientFinalFlight()

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
        SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        DTLS_set_timer_cb(ssl) { ssl, _ in OpenSSLHandshake.of(ssl)?.startTimer() ?? ClientFinalFlight.never }
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
        // The server's flight again, which OpenSSL has had; ours is repeated when its time comes.
        if finalFlight.hasBegun, DTLSRecord.isPlaintextHandshake(datagram) { return }
        bio.incoming = datagram
        defer { bio.incoming = nil }
        proceed(at: now)
    }

    private func proceed(at now: Instant) {
        guard let ssl else { return }
        ERR_clear_error()
        let result = SSL_do_handshake(ssl)
        let error = SSL_get_error(ssl, result)
        bio.isMuted = false
        collectFlight(at: now)
        if result == 1 {
            finish()
        } else if isMismatched {
            fail(.fingerprintMismatch)
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
        guard let ssl, let certificate = SSL_get1_peer_certificate(ssl) else { return [] }
        defer { X509_free(certificate) }
        return X509Certificate.der(certificate)
    }

    /// Called by OpenSSL when the peer shows its certificate: one that no fingerprint vouches for ends the handshake with
    /// an alert, before there are keys (DTLS9).
    static func judge(_ chain: OpaquePointer?) -> Int32 {
        let ssl = X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx())
        guard let handshake = of(ssl.map(OpaquePointer.init)), let certificate = X509_STORE_CTX_get0_cert(chain)
        else { return 0 }
        let bytes = X509Certificate.der(certificate)
        if handshake.fingerprints.contains(where: { $0.matches(bytes) }) { return 1 }
        handshake.isMismatched = true
        X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REJECTED)
        return 0
    }

    private static func of(_ ssl: OpaquePointer?) -> OpenSSLHandshake? {
        SSL_get_ex_data(ssl, 0).map { Unmanaged<OpenSSLHandshake>.fromOpaque($0).takeUnretainedValue() }
    }

    private func finish() {
        nextRepetition = nil
        giveUp = nil
        guard !peerCertificate.isEmpty else { return fail(.noCertificate) }
        guard let ssl, let selected = SSL_get_selected_srtp_profile(ssl),
            let profile = SRTPProfile(rawValue: UInt16(truncatingIfNeeded: selected.pointee.id))
        else { return fail(.noProfile) }
        guard let keys = SRTPKeyingMaterial(exportedBy: ssl, profile: profile, role: role) else {
            return fail(.protocolError("no keying material"))
        }
        state = .established(keys)
        // 35 kB of record buffers, which nothing but a goodbye needs again (FAN3).
        SSL_free_buffers(ssl)
    }

    private func fail(_ failure: DTLSFailure) {
        nextRepetition = nil
        giveUp = nil
        state = .failed(failure)
        ERR_clear_error()
    }

    // MARK: Afterwards

    public func settle() {
        guard case .established = state, let ssl, let alerts = DTLSAlertReader(ssl, role: role) else { return }
        farewell = Farewell(datagrams: sayGoodbye(ssl), alerts: alerts)
        SSL_free(ssl)
        self.ssl = nil
        fingerprints = []
    }

    private func sayGoodbye(_ ssl: OpaquePointer) -> [[UInt8]] {
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        _ = SSL_shutdown(ssl)
        return bio.takeOutgoing()
    }

    /// A handshake record after the end means that our final flight was lost. Of alerts, only encrypted ones count, for
    /// anyone can send others (DTLS8).
    private func handleLate(_ datagram: UnsafeRawBufferPointer, at now: Instant) {
        switch DTLSRecord.contentType(datagram) {
        case .handshake, .changeCipherSpec:
            // The server's flight ends a full handshake; a client that hears the server again did get it.
            if role == .server { enqueue(lastFlight) }
        case .alert where DTLSRecord.isEncrypted(datagram): readAlert(datagram)
        default: break
        }
    }

    private func readAlert(_ datagram: UnsafeRawBufferPointer) {
        guard let ssl else {
            if farewell?.alerts.endsConnection(datagram) == true { state = .closed }
            return
        }
        bio.incoming = datagram
        defer { bio.incoming = nil }
        ERR_clear_error()
        SSL_alloc_buffers(ssl)
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { scratch in
            _ = SSL_read(ssl, scratch.baseAddress, Int32(scratch.count))
        }
        SSL_free_buffers(ssl)
        ERR_clear_error()
        if SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 { state = .closed }
    }

    public func close() {
        guard case .established = state else { return }
        if let farewell { enqueue(farewell.datagrams) } else if let ssl { enqueue(sayGoodbye(ssl)) }
        state = .closed
    }

    // MARK: Time and output

    public var deadline: Instant? { Instant.earlier(nextRepetition, giveUp) }

    public func advance(to now: Instant) {
        guard state == .handshaking else { return }
        if let giveUp, now >= giveUp { return fail(.timeout) }
        guard let repetition = nextRepetition, now >= repetition else { return }
        renewFinalFlight()
        enqueue(lastFlight)
        timeout = min(timeout * 2, Self.longestTimeout)
        nextRepetition = now + timeout
    }

    /// Called by OpenSSL when it starts its timer; answers microseconds.
    private func startTimer() -> UInt32 {
        guard let ssl, role == .client, SSL_get_state(ssl) != TLS_ST_CW_CLNT_HELLO else {
            return ClientFinalFlight.never
        }
        // It repeats the flight by itself when it finds the timer run out while it reads; that is not wanted.
        if finalFlight.hasBegun, !finalFlight.isRenewing { bio.isMuted = true }
        finalFlight.hasBegun = true
        return ClientFinalFlight.timer
    }

    /// Has OpenSSL write a client's final flight once more in new records, as long as it does.
    private func renewFinalFlight() {
        guard let ssl, finalFlight.claimRenewal() else { return }
        ERR_clear_error()
        finalFlight.isRenewing = true
        _ = pcast_dtls_handle_timeout(ssl)
        finalFlight.isRenewing = false
        let flight = bio.takeOutgoing()
        if !flight.isEmpty { lastFlight = flight }
        ERR_clear_error()
    }

    public var hasDatagrams: Bool { !queue.isEmpty }

    public func poll(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard !queue.isEmpty else { return nil }
        var datagram = queue.removeFirst()
        recordNumbers.renumber(&datagram)
        buffer.copyBytes(from: datagram)
        return datagram.count
    }
}
