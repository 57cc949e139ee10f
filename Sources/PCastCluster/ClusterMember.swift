package import PCastCore

/// The decisions of one node about a directory: which values it writes, when the leases of other nodes expire, and which
/// origin of a stream is the current one.
///
/// It is a state machine. After each input, the driver takes the outputs. It calls ``advance(to:)`` at least each
/// quarter of a second. Leases depend on the local times at which renewals arrive, and never on another node's clock.
/// While the directory is disconnected, no lease expires, because renewals cannot arrive.
package struct ClusterMember: Sendable {
    /// The maximum number of operations at the same time.
    package static let operationLimit = 16
    /// The maximum number of values that a node keeps. Further streams of other nodes are ignored.
    package static let valueLimit = 200_000

    struct Value {
        let record: ClusterRecord
        let revision: UInt64
        /// The local time until which this node keeps a revocation; nil for other values.
        let expires: Instant?
    }

    /// A publication of this node.
    struct Publication {
        var stream: ClusterStream
        let claim: Claim
        /// The epoch that this node has claimed; nil before the first claim, and after another node has claimed it.
        var epoch: StreamEpoch?
        /// Whether another node has replaced it, so that it is not announced any more.
        var isFenced = false
        /// Whether the directory has acknowledged the epoch.
        var isAnnounced = false
    }

    /// Another node.
    struct Peer {
        /// The last local time at which a renewal arrived.
        var renewed: Instant
        var renewal: (incarnation: UInt64, number: UInt64)?
        var isLost = false
    }

    let timing: Timing
    var random: ClaimSequence
    /// The announcement of this node.
    package private(set) var node: ClusterNode
    var values: [ClusterKey: Value] = [:]
    var peers: [String: Peer] = [:]
    /// The nodes of which the directory has a publication that stands by, by name.
    var standbyNodes: [String: Set<String>] = [:]
    var publications: [String: Publication] = [:]
    /// The operations that have not finished, by their keys.
    var operations: [ClusterKey: UInt64] = [:]
    var nextOperation: UInt64 = 0
    /// The keys whose values may differ from what this node wants.
    var unsettled = ClusterKeyQueue()
    /// The times before which a key is not written again.
    var retries: [ClusterKey: Instant] = [:]
    /// The values that this node removes.
    var removals: Set<ClusterKey> = []
    /// The keys of the notifications in the directory.
    var notificationKeys: Set<ClusterKey> = []
    /// The keys of the values of databases that other nodes have changed, until the program has received them.
    var changedValues: Set<ClusterKey> = []
    /// The drain requests, revocations, values of the database and notifications that this node writes.
    var requests: [ClusterKey: ClusterRecord] = [:]
    var outputs: [Output] = []
    var now: Instant
    var nextRenewal: Instant
    /// A number above all revisions and epochs that this node has seen, also of removed records (a Lamport clock).
    var logicalTime: UInt64 = 0
    /// Whether the directory is connected and has reported all its values.
    package private(set) var isSynchronized = false
    /// Whether another process has the name of this node. Then this one announces nothing more.
    package private(set) var isSuperseded = false
    /// Whether this process has written its announcement.
    var hasAnnounced = false
    /// The last announcement of a process that had the name and does not run any more; nil if none is known.
    var formerProcess: (incarnation: UInt64, renewal: UInt64)?
    /// Another process that has announced the name, and the time of its first announcement; nil for none.
    var otherProcess: (incarnation: UInt64, renewal: UInt64, since: Instant)?
    var isLeaving = false
    /// The keys that the directory has reported since it connected, until it has reported all.
    var seen: Set<ClusterKey> = []
    /// The rejected values that were reported since the directory connected.
    var rejections: Set<String> = []
    static let rejectionLimit = 1_024
    /// The records of the writes that have not finished.
    var written: [ClusterKey: ClusterRecord] = [:]

    /// Creates the member of a node. `seed` makes its epochs different from those of all other processes.
    package init(_ node: ClusterNode, timing: Timing = Timing(), seed: UInt64, at now: Instant) {
        self.node = node
        self.timing = timing
        random = ClaimSequence(state: seed)
        (self.now, nextRenewal) = (now, now)
    }

    // MARK: Inputs of the program

    /// Announces a stream of this node, or changes its announcement. The node and the epoch of the record are set here.
    package mutating func publish(_ stream: ClusterStream, _ claim: Claim) {
        if var publication = publications[stream.name], publication.stream.stream == stream.stream {
            publication.stream = stream
            publications[stream.name] = publication
        } else {
            publications[stream.name] = Publication(stream: stream, claim: claim)
        }
        publications[stream.name]?.stream.node = node.name
        settle(.stream(stream.name))
    }

    /// Removes the announcement of a stream that has ended. Another stream of the same name is not affected.
    package mutating func end(_ name: String, stream: String) {
        guard publications[name]?.stream.stream == stream else { return }
        publications[name] = nil
        settle(.stream(name))
    }

    /// Changes the load that the next renewal announces.
    package mutating func setLoad(_ load: NodeLoad) { node.load = load }

    /// Changes the address that is announced, as soon as it is known.
    package mutating func setAddress(_ address: String) {
        node.address = address
        nextRenewal = now
    }

    /// Changes the ports for RTMP publishers that are announced, as soon as they are known.
    package mutating func setRTMPPorts(_ port: Int?, tls: Int?) {
        (node.rtmpPort, node.rtmpsPort) = (port, tls)
        nextRenewal = now
    }

    /// Announces that this node accepts no new clients, or accepts them again.
    package mutating func setDraining(_ isDraining: Bool) {
        guard node.isDraining != isDraining else { return }
        node.isDraining = isDraining
        nextRenewal = now
        // A request that was followed would drain this node again at the next connection of the directory.
        if !isDraining {
            removals.insert(.drain(node.name))
            settle(.drain(node.name))
        }
        settle(.node(node.name))
    }

    /// Removes the announcements of this node, because it stops.
    package mutating func leave() {
        isLeaving = true
        for name in publications.keys.sorted() { unsettled.insert(.stream(name)) }
        publications = [:]
        unsettled.insert(.node(node.name))
        settleAll()
    }

    /// Whether the announcements are removed after ``leave()``, or cannot be removed.
    package var hasLeft: Bool {
        isLeaving && (!isSynchronized || isSuperseded || (operations.isEmpty && unsettled.isEmpty))
    }

    /// Requests another node to drain. Returns false if there is no such node.
    package mutating func requestDrain(of name: String) -> Bool {
        guard case .node(let other) = values[.node(name)]?.record else { return false }
        request(.drain(DrainRequest(node: name, incarnation: other.incarnation)))
        return true
    }

    /// Announces that a token is not valid any more. A revocation that lasts longer is kept.
    package mutating func revoke(_ revocation: TokenRevocation) {
        let key = ClusterKey.revocation(revocation.token)
        if let expires = values[key]?.expires, expires >= now + .seconds(revocation.lifetime) { return }
        if case .revocation(let other) = requests[key], other.lifetime >= revocation.lifetime { return }
        request(.revocation(revocation))
    }

    /// Writes a record until the directory has it.
    mutating func request(_ record: ClusterRecord) {
        requests[record.key] = record
        settle(record.key)
    }

    // MARK: Inputs of the directory

    /// Processes an event of the directory.
    package mutating func handle(_ event: DirectoryEvent) {
        switch event {
        case .connected:
            // Operations of the former connection may finish later, and their results are not used.
            (isSynchronized, operations, written, seen, rejections) = (false, [:], [:], [], [])
        case .changed(let record, let revision):
            if !isSynchronized { seen.insert(record.key) }
            receive(record, revision)
        case .removed(let key):
            if values[key] != nil {
                forget(key)
                settle(key)
                if case .node(let name) = key { noteLeft(name) }
            }
        case .rejected(let reason):
            // The value of a node with another secret is written again and again.
            if rejections.count < Self.rejectionLimit, rejections.insert(reason).inserted {
                outputs.append(.event(.rejected(reason)))
            }
        case .synchronized: synchronize()
        case .disconnected(let reason):
            outputs.append(.event(.disconnected(reason)))
            (isSynchronized, operations, written) = (false, [:], [:])
        }
        settleAll()
    }

    private mutating func synchronize() {
        for (key, value) in values where !seen.contains(key) {
            // A directory that has lost its data gets the revocations and the values of databases again.
            if !removals.contains(key), let revocation = rest(of: value) { requests[key] = .revocation(revocation) }
            if case .value = value.record, requests[key] == nil { requests[key] = value.record }
            forget(key)
        }
        (isSynchronized, seen, retries) = (true, [], [:])
        // A lease begins again, because renewals could not arrive.
        for name in Array(peers.keys) { peers[name]?.renewed = now }
        for publication in publications.keys.sorted() { unsettled.insert(.stream(publication)) }
        for key in requests.keys.sorted() { unsettled.insert(key) }
        unsettled.insert(.drain(node.name))
        let own = values.filter { _, value in
            switch value.record {
            case .stream(let stream), .standby(let stream): stream.node == node.name
            case .node, .drain, .revocation, .value, .notification: false
            }
        }
        for key in own.keys.sorted() { unsettled.insert(key) }
        nextRenewal = now
        outputs.append(.event(.connected))
    }

    /// Removes a value that the directory does not have any more.
    private mutating func forget(_ key: ClusterKey) {
        values[key] = nil
        notificationKeys.remove(key)
        guard case .standby(let name, let node) = key else { return }
        standbyNodes[name]?.remove(node)
        if standbyNodes[name]?.isEmpty == true { standbyNodes[name] = nil }
    }

    private mutating func receive(_ record: ClusterRecord, _ revision: UInt64) {
        let key = record.key
        // Revisions begin again when the directory has lost its data, which shows at a new connection only.
        if isSynchronized, let known = values[key], known.revision >= revision { return }
        if values[key] == nil, values.count >= Self.valueLimit {
            switch record {
            case .stream, .standby, .notification: return
            case .node, .drain, .revocation, .value: break
            }
        }
        // The claims after it must be epochs that records may have.
        logicalTime = max(logicalTime, min(revision, 1 << 61))
        let isNew = values[key] == nil && requests[key] == nil
        let expires = expiration(of: record)
        if case .value(let value) = record { compare(value) }
        values[key] = Value(record: record, revision: revision, expires: expires)
        switch record {
        case .stream(let stream):
            logicalTime = max(logicalTime, stream.epoch.number)
            note(stream.node, nil)
            settle(key)
        case .standby(let stream):
            standbyNodes[stream.name, default: []].insert(stream.node)
            note(stream.node, nil)
            if stream.node == node.name { settle(key) }
        case .node(let other):
            if other.name == node.name { checkName(other) } else { note(other.name, other) }
        case .drain(let request):
            if request.node == node.name, request.incarnation == node.incarnation, !node.isDraining,
                !removals.contains(key)
            {
                outputs.append(.event(.drainRequested))
            }
        case .revocation(let revocation): if isNew { outputs.append(.event(.revoked(revocation.token))) }
        case .value(let value): logicalTime = max(logicalTime, value.version.number)
        case .notification(let notification):
            notificationKeys.insert(key)
            note(notification.owner, nil)
        }
    }

    /// Records a renewal of another node, or its existence, if only a stream of it is known.
    mutating func note(_ name: String, _ other: ClusterNode?) {
        guard name != node.name else { return }
        var peer = peers[name] ?? Peer(renewed: now)
        if let other, peer.renewal.map({ $0 != (other.incarnation, other.renewal) }) ?? true {
            if peer.renewal == nil || peer.isLost {
                outputs.append(.event(.nodeAppeared(name)))
                peer.isLost = false
            }
            peer.renewal = (other.incarnation, other.renewal)
            peer.renewed = now
        }
        peers[name] = peer
    }

    /// Stops announcing if another process has replaced the announcement of this one. The process that started last has
    /// the name.
    ///
    /// A directory that has lost writes may have the announcement of a former process again, which is never renewed.
    private mutating func checkName(_ other: ClusterNode) {
        guard other.incarnation != node.incarnation, !isSuperseded else { return }
        guard hasAnnounced else { return formerProcess = (other.incarnation, other.renewal) }
        // One that renews its announcement again was disconnected, and runs.
        if let formerProcess, formerProcess.incarnation == other.incarnation, formerProcess.renewal >= other.renewal {
            return
        }
        guard let known = otherProcess, known.incarnation == other.incarnation else {
            return otherProcess = (other.incarnation, other.renewal, now)
        }
        guard known.renewal != other.renewal else { return }
        isSuperseded = true
        outputs.append(.event(.superseded))
    }

    /// Returns whether another process may have the name, so that the next announcement waits for its renewal.
    mutating func waitsForOtherProcess() -> Bool {
        guard let otherProcess else { return false }
        if now - otherProcess.since < timing.renewal * 3 / 2 { return true }
        formerProcess = (otherProcess.incarnation, otherProcess.renewal)
        self.otherProcess = nil
        return false
    }

    /// Processes the result of an operation.
    package mutating func finish(_ operation: UInt64, _ key: ClusterKey, _ result: Result<UInt64?, DirectoryError>) {
        guard operations[key] == operation else { return }
        operations[key] = nil
        switch result {
        case .success(let revision):
            retries[key] = nil
            finished(key, revision)
        case .failure(let error):
            // The events of the directory report the value that caused a conflict.
            retries[key] = now + timing.retry
            written[key] = nil
            unsettled.insert(key)
            if case .unavailable(let reason) = error { outputs.append(.event(.failed(reason))) }
            if error == .invalid {
                // Another attempt would fail too.
                requests[key] = nil
                if case .stream(let name) = key { publications[name]?.isFenced = true }
                outputs.append(.event(.failed("The directory's limits do not permit the value of \(key).")))
            }
        }
        settleAll()
    }

    /// Uses a success before the directory reports the change.
    private mutating func finished(_ key: ClusterKey, _ revision: UInt64?) {
        guard let revision, let record = written.removeValue(forKey: key) else {
            removals.remove(key)
            return
        }
        if (values[key]?.revision ?? 0) < revision { receive(record, revision) }
        if case .node = record { hasAnnounced = true }
        if let request = requests[key], satisfies(record, request) { requests[key] = nil }
        unsettled.insert(key)
    }

    // MARK: Time

    /// Advances the time: renews the lease of this node, and finds lost nodes.
    package mutating func advance(to now: Instant) {
        self.now = now
        if now >= nextRenewal, isSynchronized, !isLeaving {
            nextRenewal = now + timing.renewal
            node.renewal &+= 1
            unsettled.insert(.node(node.name))
            removeExpired()
            takeOverNotifications()
        }
        if isSynchronized { findLostNodes() }
        settleAll()
    }

    private mutating func findLostNodes() {
        let lost = peers.filter { !$1.isLost && now - $1.renewed > timing.lease }.sorted { $0.key < $1.key }
        guard !lost.isEmpty else { return }
        for (name, peer) in lost {
            peers[name]?.isLost = true
            if peer.renewal != nil { outputs.append(.event(.nodeLost(name))) }
        }
        replaceLostNodes()
    }

    /// Replaces a node that has removed its announcement, because it stops, without waiting for the end of its lease.
    private mutating func noteLeft(_ name: String) {
        guard name != node.name, peers[name]?.isLost == false else { return }
        peers[name]?.isLost = true
        replaceLostNodes()
    }

    private mutating func replaceLostNodes() {
        for (name, publication) in publications.sorted(by: { $0.key < $1.key }) where publication.epoch == nil {
            unsettled.insert(.stream(name))
        }
        takeOverNotifications()
    }

    /// Removes the values of nodes that are lost for a long time, and revocations of expired tokens.
    private mutating func removeExpired() {
        for name in peers.keys.sorted() {
            if let peer = peers[name], peer.isLost, now - peer.renewed > timing.removal { remove(name) }
        }
        let expired = values.filter { _, value in value.expires.map { $0 < now } ?? false }
        removeValues(of: expired.keys)
    }

    /// Removes the values of a node that is lost for a long time.
    private mutating func remove(_ name: String) {
        let left = values.filter { _, value in
            switch value.record {
            case .stream(let stream): stream.node == name && publications[stream.name] == nil
            case .standby(let stream): stream.node == name
            case .node(let other): other.name == name
            case .drain(let request): request.node == name
            case .revocation, .value, .notification: false
            }
        }
        removeValues(of: left.keys)
        if left.isEmpty { peers[name] = nil }
    }

    private mutating func removeValues(of keys: some Sequence<ClusterKey>) {
        removals.formUnion(keys)
        for key in keys.sorted() { unsettled.insert(key) }
    }

    // MARK: Outputs

    mutating func write(_ record: ClusterRecord, _ revision: UInt64?) {
        written[record.key] = record
        outputs.append(.write(record, replacing: revision, operation: begin(record.key)))
    }

    mutating func remove(_ key: ClusterKey, _ revision: UInt64) {
        outputs.append(.remove(key, revision: revision, operation: begin(key)))
    }

    private mutating func begin(_ key: ClusterKey) -> UInt64 {
        nextOperation += 1
        operations[key] = nextOperation
        return nextOperation
    }

    /// Returns the outputs since the last call.
    package mutating func takeOutputs() -> [Output] {
        defer { outputs.removeAll(keepingCapacity: true) }
        return outputs
    }
}
