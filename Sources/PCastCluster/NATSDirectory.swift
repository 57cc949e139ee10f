import CNATS
import Foundation
import Synchronization

/// The connection of a node to NATS.
package struct NATSConfiguration: Sendable {
    /// The servers, such as `nats://a.example.com:4222` or `tls://user:password@b.example.com`.
    package var servers: [String]
    /// The secret that signs the values, which all nodes of the cluster have.
    package var secret: String
    /// The file with the credentials of a user (JWT and seed); nil for those in the URIs, or none.
    package var credentialsFile: String?
    /// The PEM file with the certificates that may sign that of a server; nil for those of the system.
    package var authorityFile: String?
    /// The PEM files with the certificate and the key of this client; nil for none.
    package var certificateFile: String?
    /// See ``certificateFile``.
    package var keyFile: String?
    /// The bucket of the key-value store, which is created if it does not exist.
    package var bucket = "pcast"
    /// The time that connections and requests may take.
    package var timeout = Duration.seconds(2)

    /// Creates a configuration.
    package init(servers: [String], secret: String) {
        self.servers = servers
        self.secret = secret
    }
}

/// The directory in a key-value bucket of NATS JetStream.
///
/// One thread connects, reports all values and then the changes, and connects again after a failure. libnats does not
/// reconnect itself, because after each connection the values must be reported again: the server may have lost them.
package final class NATSDirectory: ClusterDirectory {
    private struct State {
        var session: NATSSession?
        var isClosed = false
        var finished: [CheckedContinuation<Void, Never>] = []
        var isFinished = false
    }

    /// The maximum number of events that wait for the reader. If there are more, the directory connects again.
    private static let backlog = 2 * ClusterMember.valueLimit
    /// The time between attempts to connect. Half of it is random, so that nodes do not connect at the same time.
    private static let reconnectInterval = 1.0
    /// The time between removals of the markers of removed keys.
    private static let cleaningInterval = 600.0

    /// The changes, which have one reader.
    package let events: AsyncStream<DirectoryEvent>
    private let continuation: AsyncStream<DirectoryEvent>.Continuation
    private let configuration: NATSConfiguration
    private let coding: ClusterRecordCoding
    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    private let requests = DispatchQueue(label: "pcast.nats", attributes: .concurrent)

    /// Creates a directory, and begins to connect.
    package init(_ configuration: NATSConfiguration) {
        self.configuration = configuration
        coding = ClusterRecordCoding(secret: configuration.secret)
        (events, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.backlog))
        let thread = Thread { [self] in run() }
        thread.name = "nats"
        thread.start()
    }

    /// Writes a record, and returns its new revision.
    package func write(_ record: ClusterRecord, replacing revision: UInt64?) async throws(DirectoryError) -> UInt64 {
        guard let bytes = coding.encode(record) else { throw .invalid }
        return try await perform { session throws(DirectoryError) in
            try session.write(bytes, record.key.text, replacing: revision)
        }
    }

    /// Removes a value that has a revision.
    package func remove(_ key: ClusterKey, revision: UInt64) async throws(DirectoryError) {
        try await perform { session throws(DirectoryError) in try session.remove(key.text, revision: revision) }
    }

    /// Disconnects, and ends the sequence of events.
    package func close() async {
        let session = state.withLock { state in
            state.isClosed = true
            return state.session
        }
        session?.interrupt()
        wake.signal()
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.finished.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
    }

    /// Performs a request of libnats, which blocks, on a thread of the queue.
    private func perform<Value: Sendable>(
        _ request: @escaping @Sendable (NATSSession) throws(DirectoryError) -> Value
    ) async throws(DirectoryError) -> Value {
        guard let session = state.withLock({ $0.session }) else { throw .unavailable("NATS is not connected.") }
        let result: Result<Value, DirectoryError> = await withCheckedContinuation { continuation in
            requests.async {
                let result = Result { () throws(DirectoryError) in try request(session) }
                continuation.resume(returning: result)
            }
        }
        return try result.get()
    }

    // MARK: The thread

    private func run() {
        var lastReason: String?
        while !state.withLock({ $0.isClosed }) {
            let reason = connect()
            if state.withLock({ $0.isClosed }) { break }
            if reason.wasConnected || reason.text != lastReason { report(.disconnected(reason.text)) }
            lastReason = reason.text
            _ = wake.wait(timeout: .now() + Self.reconnectInterval * .random(in: 0.5...1))
        }
        nats_ReleaseThreadMemory()
        continuation.finish()
        let waiting = state.withLock { state in
            state.isFinished = true
            defer { state.finished = [] }
            return state.finished
        }
        for waiter in waiting { waiter.resume() }
    }

    /// Connects, and reports changes until the connection fails. Returns the reason.
    private func connect() -> (text: String, wasConnected: Bool) {
        let session: NATSSession
        do {
            session = try NATSSession(configuration)
        } catch {
            return (error.text, false)
        }
        let isClosed = state.withLock { state in
            state.session = session
            return state.isClosed
        }
        defer { state.withLock { $0.session = nil } }
        guard !isClosed, report(.connected) else { return ("The directory is closed.", false) }
        var nextCleaning = DispatchTime.now() + Self.cleaningInterval
        do {
            while true {
                switch try session.next() {
                case .value(let key, let bytes, let revision): try receive(key, bytes, revision)
                case .removal(let key):
                    if let key = ClusterKey(text: key) { try yield(.removed(key)) }
                case .synchronized: try yield(.synchronized)
                case .nothing: break
                }
                if DispatchTime.now() > nextCleaning {
                    nextCleaning = .now() + Self.cleaningInterval
                    requests.async { session.removeMarkers() }
                }
            }
        } catch {
            return (error.text, true)
        }
    }

    private func receive(_ text: String, _ bytes: Data, _ revision: UInt64) throws(NATSFailure) {
        guard let key = ClusterKey(text: text), let record = coding.decode(bytes, key) else {
            let reason = "The value of “\(text)” is invalid, or signed with another cluster secret."
            return try yield(.rejected(reason))
        }
        try yield(.changed(record, revision: revision))
    }

    /// Reports an event. Returns false if the reader is late by the whole backlog, or has left.
    @discardableResult
    private func report(_ event: DirectoryEvent) -> Bool {
        if case .enqueued = continuation.yield(event) { true } else { false }
    }

    private func yield(_ event: DirectoryEvent) throws(NATSFailure) {
        guard report(event) else { throw NATSFailure("More than \(Self.backlog) changes wait. Connecting again.") }
    }
}

/// A failure of a connection.
private struct NATSFailure: Error {
    let text: String

    init(_ text: String) { self.text = text }

    /// Describes the status of an operation, and libnats' explanation of it.
    init(_ action: String, _ status: natsStatus) {
        let explanation = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        let name = natsStatus_GetText(status).map { String(cString: $0) } ?? "error \(status.rawValue)"
        text = "NATS could not \(action): \(name)" + (explanation.isEmpty ? "" : " (\(explanation))") + "."
    }

    static func check(_ status: natsStatus, _ action: String) throws(NATSFailure) {
        guard status == NATS_OK else { throw NATSFailure(action, status) }
    }
}

/// A connection with its bucket and its watcher. libnats locks its objects, and the pointers do not change. They are
/// released with the last reference, so that a request never uses one that is released.
private final class NATSSession: @unchecked Sendable {
    enum Change {
        case value(String, Data, UInt64)
        case removal(String)
        /// All values have been reported.
        case synchronized
        /// There was no change in the time that a call waits.
        case nothing
    }

    private var options: OpaquePointer?
    private var connection: OpaquePointer?
    private var stream: OpaquePointer?
    private var store: OpaquePointer?
    private var watcher: OpaquePointer?
    private let bucket: String
    private let timeouts = Mutex(0)

    /// The number of requests without an answer after which the connection counts as failed.
    private static let maximumTimeouts = 3
    /// The error code of JetStream for a wrong revision.
    private static let wrongRevision = JSStreamWrongLastSequenceErr

    init(_ configuration: NATSConfiguration) throws(NATSFailure) {
        bucket = configuration.bucket
        let timeout = Int64(configuration.timeout.components.seconds) * 1_000
        try NATSFailure.check(natsOptions_Create(&options), "be set up")
        try setUp(configuration, timeout)
        try NATSFailure.check(natsConnection_Connect(&connection, options), "connect")
        var settings = jsOptions()
        try NATSFailure.check(jsOptions_Init(&settings), "be set up")
        settings.Wait = timeout
        try NATSFailure.check(natsConnection_JetStream(&stream, connection, &settings), "use JetStream")
        try openBucket()
        var watching = kvWatchOptions()
        try NATSFailure.check(kvWatchOptions_Init(&watching), "be set up")
        watching.Timeout = timeout
        try NATSFailure.check(kvStore_WatchAll(&watcher, store, &watching), "watch the bucket “\(bucket)”")
    }

    deinit {
        kvWatcher_Destroy(watcher)
        kvStore_Destroy(store)
        jsCtx_Destroy(stream)
        natsConnection_Destroy(connection)
        natsOptions_Destroy(options)
    }

    private func setUp(_ configuration: NATSConfiguration, _ timeout: Int64) throws(NATSFailure) {
        var servers = configuration.servers.map { UnsafePointer<CChar>(strdup($0)) }
        defer { for server in servers { free(UnsafeMutablePointer(mutating: server)) } }
        let settings: [(String, natsStatus)] = [
            ("use the servers", natsOptions_SetServers(options, &servers, Int32(servers.count))),
            ("be set up", natsOptions_SetTimeout(options, timeout)),
            ("be set up", natsOptions_SetAllowReconnect(options, false)),
            ("be set up", natsOptions_SetPingInterval(options, timeout)),
            ("be set up", natsOptions_SetMaxPingsOut(options, 2)),
            ("be set up", natsOptions_SetName(options, "pcast")),
        ]
        for (action, status) in settings { try NATSFailure.check(status, action) }
        if configuration.servers.contains(where: { $0.hasPrefix("tls://") }) {
            try NATSFailure.check(natsOptions_SetSecure(options, true), "use TLS")
        }
        if let file = configuration.authorityFile {
            try NATSFailure.check(natsOptions_LoadCATrustedCertificates(options, file), "read “\(file)”")
        }
        if let file = configuration.certificateFile, let key = configuration.keyFile {
            let status = natsOptions_LoadCertificatesChain(options, file, key)
            try NATSFailure.check(status, "read “\(file)” and “\(key)”")
        }
        if let file = configuration.credentialsFile {
            let status = natsOptions_SetUserCredentialsFromFiles(options, file, nil)
            try NATSFailure.check(status, "read “\(file)”")
        }
    }

    /// Opens the bucket, or creates it. An operator may create it beforehand, for example with three replicas.
    private func openBucket() throws(NATSFailure) {
        if js_KeyValue(&store, stream, bucket) == NATS_OK { return }
        let status = bucket.withCString { name in
            var settings = kvConfig()
            kvConfig_Init(&settings)
            settings.Bucket = name
            settings.History = 1
            settings.MaxValueSize = Int32(ClusterRecordCoding.maximumSize)
            return js_CreateKeyValue(&store, stream, &settings)
        }
        try NATSFailure.check(status, "create the bucket “\(bucket)”")
    }

    /// Waits for a change, for at most a second.
    func next() throws(NATSFailure) -> Change {
        var entry: OpaquePointer?
        let status = kvWatcher_Next(&entry, watcher, 1_000)
        if status == NATS_TIMEOUT {
            guard !natsConnection_IsClosed(connection) else { throw NATSFailure("The connection to NATS was closed.") }
            return .nothing
        }
        try NATSFailure.check(status, "report changes")
        guard let entry else { return .synchronized }
        defer { kvEntry_Destroy(entry) }
        guard let name = kvEntry_Key(entry) else { return .nothing }
        let key = String(cString: name)
        guard kvEntry_Operation(entry) == kvOp_Put else { return .removal(key) }
        let count = Int(kvEntry_ValueLen(entry))
        let bytes = kvEntry_Value(entry).map { Data(bytes: $0, count: max(count, 0)) } ?? Data()
        return .value(key, bytes, kvEntry_Revision(entry))
    }

    /// Makes `next()` fail.
    func interrupt() { kvWatcher_Stop(watcher) }

    func write(_ bytes: Data, _ key: String, replacing revision: UInt64?) throws(DirectoryError) -> UInt64 {
        if let revision { return try publish(bytes, key, isRemoval: false, replacing: revision) }
        // There may be a marker of a removed value, which libnats replaces.
        var written: UInt64 = 0
        let status = bytes.withUnsafeBytes { kvStore_Create(&written, store, key, $0.baseAddress, Int32($0.count)) }
        let explanation = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        let isConflict = status == NATS_ERR && explanation.contains("wrong last sequence")
        try check(status, isConflict ? Self.wrongRevision : jsErrCode(rawValue: 0), "write to the bucket “\(bucket)”")
        return written
    }

    func remove(_ key: String, revision: UInt64) throws(DirectoryError) {
        _ = try publish(Data(), key, isRemoval: true, replacing: revision)
    }

    /// Publishes a value, or the marker of a removed one, if the last one has a revision. libnats 3.4 has no function that
    /// removes a value under this condition.
    private func publish(
        _ bytes: Data, _ key: String, isRemoval: Bool, replacing revision: UInt64
    ) throws(DirectoryError) -> UInt64 {
        var message: OpaquePointer?
        let subject = "$KV.\(bucket).\(key)"
        var status = bytes.withUnsafeBytes { bytes in
            natsMsg_Create(
                &message, subject, nil, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count))
        }
        defer { natsMsg_Destroy(message) }
        if status == NATS_OK, isRemoval { status = natsMsgHeader_Set(message, "KV-Operation", "DEL") }
        var settings = jsPubOptions()
        jsPubOptions_Init(&settings)
        settings.ExpectLastSubjectSeq = revision
        var acknowledgment: UnsafeMutablePointer<jsPubAck>?
        var error = jsErrCode(rawValue: 0)
        if status == NATS_OK { status = js_PublishMsg(&acknowledgment, stream, message, &settings, &error) }
        defer { jsPubAck_Destroy(acknowledgment) }
        try check(status, error, "write to the bucket “\(bucket)”")
        return acknowledgment?.pointee.Sequence ?? 0
    }

    /// Throws the error of a request. A server that does not answer, or whose bucket is gone, ends the session.
    private func check(_ status: natsStatus, _ error: jsErrCode, _ action: String) throws(DirectoryError) {
        if status == NATS_OK || error == Self.wrongRevision { timeouts.withLock { $0 = 0 } }
        guard status != NATS_OK else { return }
        guard error != Self.wrongRevision else { throw .conflict }
        let failures = timeouts.withLock { count in
            count += 1
            return count
        }
        if status == NATS_NO_RESPONDERS || failures >= Self.maximumTimeouts { interrupt() }
        throw .unavailable(NATSFailure(action, status).text)
    }

    /// Removes the markers of values that were removed more than half an hour ago, which otherwise remain for ever.
    func removeMarkers() {
        // A failure is not reported, because the next removal includes the same markers.
        kvStore_PurgeDeletes(store, nil)
    }
}
