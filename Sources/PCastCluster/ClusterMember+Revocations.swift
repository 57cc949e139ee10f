import PCastCore

/// The durations of revocations.
extension ClusterMember {
    /// Returns a revocation with the duration for which this node still keeps it; nil if it has expired, or for other values.
    func rest(of value: Value) -> TokenRevocation? {
        guard case .revocation(let revocation) = value.record, let expires = value.expires, expires > now else {
            return nil
        }
        let seconds = Int64((expires - now).seconds.rounded(.up))
        return TokenRevocation(token: revocation.token, lifetime: min(seconds, TokenRevocation.maximumLifetime))
    }

    /// Returns the local time until which a revocation is kept that arrives now; nil for other records. A shorter one, which
    /// a directory has that lost a write, does not replace a longer one, and is replaced itself.
    mutating func expiration(of record: ClusterRecord) -> Instant? {
        guard case .revocation(let revocation) = record else { return nil }
        let expires = now + .seconds(revocation.lifetime)
        if expires > now { removals.remove(record.key) }
        guard let known = values[record.key], let former = known.expires else { return expires }
        guard known.record != record, former > expires else { return known.record == record ? former : expires }
        if let revocation = rest(of: known) {
            requests[record.key] = .revocation(revocation)
            unsettled.insert(record.key)
        }
        return former
    }
}
