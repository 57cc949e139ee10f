import COpenSSL
package import PCastCore

/// A DTLS 1.2 handshake by OpenSSL, with time as an input (RFC 6347).
///
/// This class retransmits flights and does not use OpenSSL's timer. It keeps the last flight and retransmits it when
/// `advance(to:)` is called after the timeout. The final flight is also retransmitted when a late handshake record
/// shows that the peer did not receive it. OpenSSL reassembles messages in any order. There is no cookie exchange,
/// because ICE has verified the address.
///
/// A client's Finished message is encrypted again for a retransmission. A server that has received it drops a copy as a
/// replay (RFC 6347, section 4.1.2.6), and then never retransmits its own final flight if that was lost.
///
/// The `SSL` object is released when the peer has shown that it has the keys. Only the last flight, the close_notify
/// record and the peer's alert keys are kept, which have some hundred bytes instead of tens of thousands.
///
/// It is marked `@safe` for these reasons. It owns the `SSL` object until `deinit`, or until it sets the property to
/// nil. The `SSL` object has an unretained reference to it, which only its own calls of OpenSSL use. Buffers have the
/// sizes that are passed with them. One thread at a time uses a handshake.
@safe
package final class OpenSSLHandshake: DTLSHandshake {
    /// The maximum size of a written datagram in bytes, which fits into the IPv6 minimum MTU of 1280 bytes with
    /// headers.
    static let datagramSize = 1200

    /// The time after which the handshake fails.
    private static let timeout = TimeSpan.seconds(30)
    /// The minimum time before the first retransmission, which doubles for each further one.
    private static let firstTimeout = TimeSpan.milliseconds(50)
    /// The minimum time between answers to handshake records after the handshake. It is half of the shortest
    /// retransmission timer of a client, so that a retransmission is answered also if jitter or a duplicate of the
    /// client's flight precedes it closely.
    private static let lateInterval = TimeSpan.milliseconds(25)
    /// The maximum time between retransmissions.
    private static let longestTimeout = TimeSpan.seconds(2)

    /// The maximum number of queued datagrams. The oldest one is dropped, and is retransmitted with its flight.
    private static let queueLimit = 32

    /// The progress of the handshake.
    package private(set) var state = DTLSState.new

    /// The keys of a client that has sent its final flight, before it has received that of the server.
    package private(set) var earlyKeys: SRTPKeyingMaterial?

    /// The round-trip time to the peer; nil if it is unknown. The first retransmission waits for at least two of them.
    package var roundTrip: TimeSpan?

    private let certificate: DTLSCertificate
    private let role: DTLSRole
    private var fingerprints: [DTLSFingerprint]
    /// The OpenSSL object; nil after it was released.
    private var ssl: OpaquePointer?
    private let bio = DatagramBIO()
    /// The data that is kept after the `SSL` object was released; nil before.
    private var closeNotify: CloseNotify?

    /// The data that the end of the connection needs without an `SSL` object.
    private struct CloseNotify {
        /// The close_notify alert of this side.
        let datagrams: [[UInt8]]
        /// The decryption of alerts of the peer.
        let alerts: DTLSAlertReader
    }

    /// The datagrams to send.
    private var queue: [[UInt8]] = []
    /// The datagrams of the last flight, for retransmission.
    private var lastFlight: [[UInt8]] = []
    /// The time of the next retransmission; nil if none is scheduled.
    private var nextRepetition: Instant?
    /// The time of the last retransmission after the handshake; nil if there was none.
    private var lastLateRepetition: Instant?
    /// The time between the last two transmissions of the flight.
    private var timeout = OpenSSLHandshake.firstTimeout
    /// The time at which the handshake fails; nil before the start and after the end.
    private var giveUp: Instant?
    /// Whether the peer's certificate matches no fingerprint.
    private var isMismatched = false
    /// Whether the hello of the server has the extension of RFC 7627. OpenSSL has no function for it before the end of the
    /// handshake.
    private var hasExtendedMasterSecret = false
    private var recordNumbers = PlaintextRecordNumbers()
    private var finalFlight = ClientFinalFlight()

    /// Creates a handshake.
    ///
    /// - Parameters:
    ///   - certificate: The certificate of this side.
    ///   - role: The role of this side.
    ///   - expectedFingerprints: The fingerprints of the peer's certificate, of which one must match (RFC 8122, section
    ///     5).
    package init(certificate: DTLSCertificate, role: DTLSRole, expectedFingerprints: [DTLSFingerprint]) {
        self.certificate = certificate
        self.role = role
        fingerprints = expectedFingerprints
        guard let ssl = unsafe SSL_new(certificate.context), let bio = unsafe bio.makeBIO() else {
            fatalError("out of memory for a DTLS handshake")
        }
        unsafe self.ssl = ssl
        unsafe SSL_set_bio(ssl, bio, bio)
        unsafe pcast_ssl_set_mtu(ssl, Self.datagramSize)
        unsafe SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
        unsafe DTLS_set_timer_cb(ssl) { ssl, _ in
            unsafe OpenSSLHandshake.of(ssl)?.startTimer() ?? ClientFinalFlight.never
        }
        if role == .client {
            unsafe SSL_set_connect_state(ssl)
            unsafe pcast_ssl_set_extension_callback(ssl) { ssl, _, type, _, _, _ in
                guard type == TLSEXT_TYPE_extended_master_secret else { return }
                unsafe OpenSSLHandshake.of(ssl)?.hasExtendedMasterSecret = true
            }
        } else {
            unsafe SSL_set_accept_state(ssl)
        }
    }

    deinit { unsafe SSL_free(ssl) }

    // MARK: Input

    /// Starts the handshake; a client sends its first flight.
    package func start(at now: Instant) {
        guard state == .new else { return }
        state = .handshaking
        giveUp = now + Self.timeout
        if let roundTrip { timeout = max(Self.firstTimeout, roundTrip * 2) }
        if role == .client { proceed(at: now) }
    }

    /// Processes a datagram. Before the start it also starts the handshake.
    package func handle(_ datagram: ByteView, at now: Instant) {
        guard !datagram.isEmpty else { return }
        switch state {
        case .new:
            // The peer has sent DTLS after its check was answered, but before a check of this side has succeeded.
            start(at: now)
            feed(datagram, at: now)
        case .handshaking: feed(datagram, at: now)
        case .established: handleLate(datagram, at: now)
        case .failed, .closed: break
        }
    }

    /// Passes a datagram to OpenSSL.
    private func feed(_ datagram: ByteView, at now: Instant) {
        // It is a retransmission of the server's flight, which OpenSSL has processed. This side retransmits its own
        // flight by timeout.
        if finalFlight.hasBegun, DTLSRecord.isPlaintextHandshake(datagram) { return }
        bio.incoming = datagram
        defer { bio.incoming = nil }
        proceed(at: now)
    }

    /// Lets OpenSSL continue the handshake, and handles the result.
    private func proceed(at now: Instant) {
        guard let ssl = unsafe ssl else { return }
        ERR_clear_error()
        let result = unsafe SSL_do_handshake(ssl)
        let error = unsafe SSL_get_error(ssl, result)
        bio.isMuted = false
        collectFlight(at: now)
        if result == 1 {
            finish()
        } else if isMismatched {
            fail(.fingerprintMismatch)
        } else if error != SSL_ERROR_WANT_READ, error != SSL_ERROR_WANT_WRITE {
            let hasCertificate = !peerCertificate.isEmpty
            fail(hasCertificate || role == .client ? .protocolError(OpenSSLErrors.take()) : refusalReason())
        } else if unsafe maySendEarly(ssl) {
            earlyKeys = unsafe exportKeys(ssl)
        }
    }

    /// Returns whether the keys may be used before the server's Finished message (RFC 7918, sections 4 and 5).
    ///
    /// The client has verified the server's certificate and its signature of the ECDHE share, has sent its own
    /// Finished message, and the cipher suite has forward secrecy and AEAD. The master secret depends on both hellos
    /// and certificates (RFC 7627), so that the server has the same keys only if nobody has modified them, for example
    /// the list of SRTP profiles. An authentic SRTP packet of the server proves that, as its Finished message does.
    private func maySendEarly(_ ssl: OpaquePointer) -> Bool {
        guard role == .client, earlyKeys == nil, unsafe SSL_get_state(ssl) == TLS_ST_CW_FINISHED,
            hasExtendedMasterSecret, let suite = unsafe SSL_get_current_cipher(ssl)
        else { return false }
        return unsafe SSL_CIPHER_is_aead(suite) == 1 && SSL_CIPHER_get_kx_nid(suite) == NID_kx_ecdhe
            && !peerCertificate.isEmpty
    }

    /// Returns the reason for which OpenSSL rejected the peer's flight as a server.
    private func refusalReason() -> DTLSFailure {
        let reason = OpenSSLErrors.take()
        return reason.contains("peer did not return a certificate") ? .noCertificate : .protocolError(reason)
    }

    /// Queues the datagrams that OpenSSL wrote. They are one flight, which replaces the last one.
    private func collectFlight(at now: Instant) {
        let flight = bio.takeOutgoing()
        guard !flight.isEmpty else { return }
        lastFlight = flight
        timeout = max(Self.firstTimeout, (roundTrip ?? .zero) * 2)
        nextRepetition = now + timeout
        enqueue(flight)
    }

    /// Queues datagrams, and drops the oldest ones if the queue is full.
    private func enqueue(_ flight: [[UInt8]]) {
        queue.append(contentsOf: flight)
        if queue.count > Self.queueLimit { queue.removeFirst(queue.count - Self.queueLimit) }
    }

    // MARK: Completion

    /// The peer's certificate in DER; empty if there is none.
    private var peerCertificate: [UInt8] {
        guard let ssl = unsafe ssl, let certificate = unsafe SSL_get1_peer_certificate(ssl) else { return [] }
        defer { unsafe X509_free(certificate) }
        return unsafe X509Certificate.der(certificate)
    }

    /// Verifies the certificate of the peer, as OpenSSL's callback. If it matches no fingerprint, the handshake ends
    /// with an alert before keys are derived (RFC 8122, section 5).
    static func evaluate(_ chain: OpaquePointer?) -> Int32 {
        let ssl = unsafe X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx())
        guard let handshake = unsafe of(ssl.map(OpaquePointer.init)),
            let certificate = unsafe X509_STORE_CTX_get0_cert(chain)
        else { return 0 }
        let bytes = unsafe X509Certificate.der(certificate)
        if handshake.fingerprints.contains(where: { $0.matches(bytes) }) { return 1 }
        handshake.isMismatched = true
        unsafe X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REJECTED)
        return 0
    }

    /// Returns the object of an `SSL`.
    private static func of(_ ssl: OpaquePointer?) -> OpenSSLHandshake? {
        unsafe SSL_get_ex_data(ssl, 0).map { unsafe Unmanaged<OpenSSLHandshake>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Derives the keys after the handshake has finished.
    private func finish() {
        nextRepetition = nil
        giveUp = nil
        guard !peerCertificate.isEmpty else { return fail(.noCertificate) }
        guard let ssl = unsafe ssl, unsafe selectedProfile(ssl) != nil else { return fail(.noProfile) }
        guard let keys = unsafe earlyKeys ?? exportKeys(ssl) else {
            return fail(.protocolError("no keying material"))
        }
        earlyKeys = nil
        state = .established(keys)
        // The record buffers have 35 kB, and only alerts need them again.
        unsafe SSL_free_buffers(ssl)
    }

    /// Returns the SRTP profile that the server has selected; nil if there is none.
    private func selectedProfile(_ ssl: OpaquePointer) -> SRTPProfile? {
        unsafe SSL_get_selected_srtp_profile(ssl).flatMap {
            unsafe SRTPProfile(rawValue: UInt16(truncatingIfNeeded: $0.pointee.id))
        }
    }

    /// Returns the SRTP keys; nil if there is no profile, or if OpenSSL fails.
    private func exportKeys(_ ssl: OpaquePointer) -> SRTPKeyingMaterial? {
        guard let profile = unsafe selectedProfile(ssl) else { return nil }
        return unsafe SRTPKeyingMaterial(exportedBy: ssl, profile: profile, role: role)
    }

    /// Ends the handshake with a failure.
    private func fail(_ failure: DTLSFailure) {
        nextRepetition = nil
        giveUp = nil
        earlyKeys = nil
        state = .failed(failure)
        ERR_clear_error()
    }

    // MARK: After the handshake

    /// Releases the `SSL` object and keeps the data for the end of the connection.
    package func releaseResources() {
        guard case .established = state, let ssl = unsafe ssl, let alerts = unsafe DTLSAlertReader(ssl, role: role)
        else { return }
        closeNotify = unsafe CloseNotify(datagrams: writeCloseNotify(ssl), alerts: alerts)
        unsafe SSL_free(ssl)
        unsafe self.ssl = nil
        fingerprints = []
    }

    /// Returns the datagrams of a close_notify alert.
    private func writeCloseNotify(_ ssl: OpaquePointer) -> [[UInt8]] {
        ERR_clear_error()
        unsafe SSL_alloc_buffers(ssl)
        _ = unsafe SSL_shutdown(ssl)
        return bio.takeOutgoing()
    }

    /// Processes a datagram after the handshake. A handshake record means that the final flight was lost. Only
    /// encrypted alerts are processed, because anyone can send others.
    ///
    /// Anyone can send handshake records too, so the flight is sent at most once per `lateInterval`. The first record is
    /// answered at once, and the datagrams of one flight, which arrive together, cause one answer. Clients retransmit
    /// their flight after 50 ms at the earliest, and RFC 6347, section 4.2.4.1, recommends one second.
    private func handleLate(_ datagram: ByteView, at now: Instant) {
        switch DTLSRecord.contentType(datagram) {
        case .handshake, .changeCipherSpec:
            // The server sends the final flight of a full handshake. A client that receives handshake records again has
            // already received this flight.
            guard role == .server, DTLSRecord.isOfHandshakeEpoch(datagram),
                lastLateRepetition.map({ now - $0 >= Self.lateInterval }) ?? true
            else { break }
            lastLateRepetition = now
            enqueue(lastFlight)
        case .alert where DTLSRecord.isEncrypted(datagram): readAlert(datagram)
        default: break
        }
    }

    /// Processes an encrypted alert.
    private func readAlert(_ datagram: ByteView) {
        guard let ssl = unsafe ssl else {
            if closeNotify?.alerts.endsConnection(datagram) == true { state = .closed }
            return
        }
        bio.incoming = datagram
        defer { bio.incoming = nil }
        ERR_clear_error()
        unsafe SSL_alloc_buffers(ssl)
        withTemporaryBytes(64) { scratch in
            _ = unsafe SSL_read(ssl, scratch.unsafeBytes.baseAddress, Int32(scratch.count))
        }
        unsafe SSL_free_buffers(ssl)
        ERR_clear_error()
        if unsafe SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN != 0 { state = .closed }
    }

    /// Queues a close_notify alert.
    package func close() {
        guard case .established = state else { return }
        if let closeNotify {
            enqueue(closeNotify.datagrams)
        } else if let ssl = unsafe ssl {
            unsafe enqueue(writeCloseNotify(ssl))
        }
        state = .closed
    }

    // MARK: Time and output

    /// The time of the next retransmission or of the failure; nil if nothing is scheduled.
    package var deadline: Instant? { Instant.earlier(nextRepetition, giveUp) }

    /// Retransmits the last flight if it is due, or fails after 30 s.
    package func advance(to now: Instant) {
        guard state == .handshaking else { return }
        if let giveUp, now >= giveUp { return fail(.timeout) }
        guard let repetition = nextRepetition, now >= repetition else { return }
        renewFinalFlight()
        enqueue(lastFlight)
        timeout = min(timeout * 2, Self.longestTimeout)
        nextRepetition = now + timeout
    }

    /// Returns the duration of a timer that OpenSSL starts, in microseconds, as its callback.
    private func startTimer() -> UInt32 {
        guard let ssl = unsafe ssl, role == .client, unsafe SSL_get_state(ssl) != TLS_ST_CW_CLNT_HELLO else {
            return ClientFinalFlight.never
        }
        // OpenSSL retransmits the flight by itself when its timer has expired while it reads. Its output is discarded
        // then.
        if finalFlight.hasBegun, !finalFlight.isRenewing { bio.isMuted = true }
        finalFlight.hasBegun = true
        return ClientFinalFlight.timer
    }

    /// Lets OpenSSL write a client's final flight in new records, within the limit of its retransmissions.
    private func renewFinalFlight() {
        guard let ssl = unsafe ssl, finalFlight.claimRenewal() else { return }
        ERR_clear_error()
        finalFlight.isRenewing = true
        _ = unsafe pcast_dtls_handle_timeout(ssl)
        finalFlight.isRenewing = false
        let flight = bio.takeOutgoing()
        if !flight.isEmpty { lastFlight = flight }
        ERR_clear_error()
    }

    /// Whether datagrams are queued.
    package var hasDatagrams: Bool { !queue.isEmpty }

    /// Writes the next datagram into a buffer and returns its size; nil if there is none.
    package func poll(into buffer: MutableByteView) -> Int? {
        guard !queue.isEmpty else { return nil }
        var datagram = queue.removeFirst()
        recordNumbers.renumber(&datagram)
        buffer.copyBytes(from: datagram)
        return datagram.count
    }
}

extension SRTPKeyingMaterial {
    /// Exports the keys of a handshake (RFC 5764, section 4.2) whose master secret exists. Returns nil if OpenSSL fails.
    init?(exportedBy ssl: OpaquePointer, profile: SRTPProfile, role: DTLSRole) {
        let label = "EXTRACTOR-dtls_srtp"
        var exported = [UInt8](repeating: 0, count: profile.keyingMaterialLength)
        let isExported = unsafe SSL_export_keying_material(
            ssl, &exported, exported.count, label, label.utf8.count, nil, 0, 0)
        guard isExported == 1 else { return nil }
        self.init(profile: profile, exported: exported, role: role)
    }
}

/// The state of a client's last flight, which ends with its Finished message.
struct ClientFinalFlight {
    /// The duration of OpenSSL's timer for all other flights, in microseconds. It is one hour, which no handshake
    /// lasts, because this module keeps the time.
    static let never: UInt32 = 3_600_000_000

    /// The duration of OpenSSL's timer for this flight, in microseconds.
    ///
    /// It has expired when OpenSSL is asked to retransmit the flight, which is after 50 ms at the earliest. It has not
    /// expired while OpenSSL reads the datagrams that arrive right after the flight. If less time has really passed, as
    /// in a test, OpenSSL writes nothing and a copy is retransmitted.
    static let timer: UInt32 = 20_000

    /// The maximum number of flights that OpenSSL rewrites; it aborts a handshake after twelve timeouts.
    private static let renewalLimit = 10

    /// Whether OpenSSL has written the flight.
    var hasBegun = false
    /// Whether OpenSSL is rewriting the flight at the moment.
    var isRenewing = false
    private var renewals = 0

    /// Returns whether OpenSSL may rewrite the flight, and counts it.
    mutating func claimRenewal() -> Bool {
        guard hasBegun, renewals < Self.renewalLimit else { return false }
        renewals += 1
        return true
    }
}
