extension CapabilityConstraint {
    /// Returns a required constraint that no device can satisfy together with the given one; nil if there is none.
    func contradiction(of demand: DeviceConstraint) -> DeviceConstraint? {
        demands.first { $0 != demand && areContradictory(demand, $0) }
    }

    private func areContradictory(_ one: DeviceConstraint, _ other: DeviceConstraint) -> Bool {
        if one.value.asksNothing || other.value.asksNothing { return false }
        guard case .number(let left) = one.value, case .number(let right) = other.value else {
            return one.kind == .exact && other.kind == .exact
        }
        // The bounds of a constraint are the first values to satisfy another one.
        let aim = NumericConstraint(self)
        return !aim.isMet(other, by: left) && !aim.isMet(one, by: right)
    }
}
