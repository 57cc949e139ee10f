extension CapabilityAim {
    /// Another demand that cannot be met along with this one, whatever the device.
    func contradiction(of demand: DeviceConstraint) -> DeviceConstraint? {
        demands.first { $0 != demand && areContradictory(demand, $0) }
    }

    private func areContradictory(_ one: DeviceConstraint, _ other: DeviceConstraint) -> Bool {
        if one.value.asksNothing || other.value.asksNothing { return false }
        guard case .number(let left) = one.value, case .number(let right) = other.value else {
            return one.kind == .exact && other.kind == .exact
        }
        // Ends of what a demand allows are the first to meet another.
        let aim = NumberAim(self)
        return !aim.isMet(other, by: left) && !aim.isMet(one, by: right)
    }
}
