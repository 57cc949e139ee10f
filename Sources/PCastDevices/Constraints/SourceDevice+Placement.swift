extension SourceDevice {
    /// Returns the fitness of the device's unchangeable properties.
    func placed(by aims: DeviceConstraintSet) -> [CapabilityFit] {
        let isFacingKnown = info.facingMode != .undefined && info.facingMode != .automatic
        let isLocationKnown = info.location != .automatic
        return [
            EnumConstraint(aims[.facingMode]).evaluate(
                [.facingMode(info.facingMode)], instead: isFacingKnown ? .facingMode(info.facingMode) : nil,
                lack: isFacingKnown ? "its facing mode is \(info.facingMode.rawValue)" : "its facing mode is unknown"),
            EnumConstraint(aims[.location]).evaluate(
                [.location(info.location)], instead: isLocationKnown ? .location(info.location) : nil,
                lack: isLocationKnown ? "its location is \(info.location.rawValue)" : "its location is unknown"),
            EnumConstraint(aims[.deviceID]).evaluate(
                [.text(info.id)], instead: .text(info.id), lack: "it is unavailable; \(info.id) is used"),
        ].map(\.fit)
    }
}
