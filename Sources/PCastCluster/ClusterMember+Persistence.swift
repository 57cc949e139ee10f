/// The persistent data that the nodes of a cluster share: values of their databases, and notifications.
extension ClusterMember {
    /// Returns whether a value of the directory has the effect of a requested record.
    func satisfies(_ value: ClusterRecord?, _ request: ClusterRecord) -> Bool {
        switch (value, request) {
        case (.revocation(let revocation), .revocation(let request)): revocation.lifetime >= request.lifetime
        case (.value(let value), .value(let request)): value.version >= request.version
        // Another node that is not lost delivers the notification.
        case (.notification(let notification), .notification(let request)):
            notification.owner == request.owner || peers[notification.owner]?.isLost == false
        default: value == request
        }
    }

    // MARK: Values of the database

    /// Announces a value of this node's database, unless the directory has the same one or a newer one.
    package mutating func announce(_ value: ClusterValue) {
        let record = ClusterRecord.value(value)
        logicalTime = max(logicalTime, value.version.number)
        guard satisfies(values[record.key]?.record, record) == false else { return }
        if let request = requests[record.key], satisfies(request, record) { return }
        request(record)
    }

    /// Returns the values that other nodes have changed since the last call, in the order of their keys.
    package mutating func takeChangedValues() -> [ClusterValue] {
        defer { changedValues = [] }
        return changedValues.sorted().compactMap { key in
            if case .value(let value) = values[key]?.record { value } else { nil }
        }
    }

    /// A number that versions of new values must exceed.
    package var lowestVersion: UInt64 { logicalTime }

    /// Returns a value that this node knows; nil if there is none.
    package func value(_ key: ClusterKey) -> ClusterValue? {
        if case .value(let value)? = requests[key] ?? values[key]?.record { value } else { nil }
    }

    /// Compares a value that the directory reports with the one that this node knows. If it is newer, the program receives
    /// it. If it is older, because the directory has lost a write, the directory gets the known one again.
    mutating func compare(_ value: ClusterValue) {
        let key = ClusterRecord.value(value).key
        let known = [values[key]?.record, requests[key]].compactMap { record -> ClusterValue? in
            if case .value(let value) = record { value } else { nil }
        }
        guard let newest = known.max(by: { $0.version < $1.version }), newest.version >= value.version else {
            if changedValues.isEmpty { outputs.append(.event(.valuesChanged)) }
            changedValues.insert(key)
            return
        }
        guard newest.version > value.version else { return }
        requests[key] = .value(newest)
        unsettled.insert(key)
    }

    // MARK: Notifications

    /// Announces a notification that this node delivers.
    package mutating func announce(_ notification: ClusterNotification) { request(.notification(notification)) }

    /// Removes the notification of this node that is delivered.
    package mutating func withdrawNotification(_ id: String) {
        let key = ClusterKey.notification(id)
        requests[key] = nil
        guard operations[key] != nil || values[key] != nil else { return }
        removals.insert(key)
        settle(key)
    }

    /// The notifications that this node delivers, in their order; nil while the directory is disconnected, or while this
    /// node takes over others.
    package var ownNotifications: [ClusterNotification]? {
        guard isSynchronized, !isSuperseded else { return nil }
        var own: [ClusterNotification] = []
        let isHeir = isHeir
        for key in notificationKeys {
            guard case .notification(let notification) = values[key]?.record else { continue }
            if notification.owner == node.name {
                own.append(notification)
            } else if isHeir, isOfLostNode(notification) {
                return nil
            }
        }
        return own.sorted { ($0.origin, $0.number, $0.id) < ($1.origin, $1.number, $1.id) }
    }

    /// Returns whether another node delivers a notification.
    package func isTakenOver(_ id: String) -> Bool {
        guard case .notification(let notification) = values[.notification(id)]?.record else { return false }
        return notification.owner != node.name && peers[notification.owner]?.isLost == false
    }

    /// Whether this node becomes the owner of the notifications of lost nodes. All nodes select the same one: the first one by
    /// name that does not drain, or else the first one.
    private var isHeir: Bool {
        guard !isLeaving else { return false }
        let nodes = nodes
        return (nodes.first { !$0.isDraining } ?? nodes.first)?.name == node.name
    }

    private func isOfLostNode(_ notification: ClusterNotification) -> Bool {
        notification.owner != node.name && peers[notification.owner]?.isLost == true
    }

    /// Becomes the owner of the notifications of lost nodes.
    mutating func takeOverNotifications() {
        guard !notificationKeys.isEmpty else { return }
        let isHeir = isHeir
        for key in notificationKeys.sorted() {
            guard case .notification(let notification) = values[key]?.record else { continue }
            // The node may be forgotten after its other values were removed.
            if peers[notification.owner] == nil { note(notification.owner, nil) }
            if isHeir, isOfLostNode(notification) { unsettled.insert(key) }
        }
    }

    /// Writes or removes a notification of this node, or becomes the owner of that of a lost node.
    mutating func settleNotification(_ key: ClusterKey, _ record: ClusterRecord?, _ revision: UInt64?) {
        if let request = requests[key] {
            if satisfies(record, request) { requests[key] = nil } else { write(request, revision) }
            return
        }
        guard case .notification(var notification) = record, let revision else {
            removals.remove(key)
            return
        }
        if notification.owner == node.name {
            if removals.contains(key) { remove(key, revision) }
            return
        }
        removals.remove(key)
        guard isOfLostNode(notification), isHeir else { return }
        notification.owner = node.name
        write(.notification(notification), revision)
    }
}
