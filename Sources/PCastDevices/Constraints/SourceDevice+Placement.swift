extension SourceDevice {
    /// Returns the fitness of the device's unchangeable properties.
    func placed(by aims: CapabilityAims) -> [CapabilityFit] {
        let isFacingKnown = info.facingMode != .undefined && info.facingMode != .automatic
        let isLocationKnown = info.location != .automatic
        return [
            SettingAim(aims[.facingMode]).settle(
                [.facingMode(info.facingMode)], instead: isFacingKnown ? .facingMode(info.facingMode) : nil,
                lack: isFacingKnown ? "its facing mode is \(info.facingMode.rawValue)" : "its facing mode is unknown"),
            SettingAim(aims[.location]).settle(
                [.location(info.location)], instead: isLocationKnown ? .location(info.location) : nil,
                lack: isLocationKnown ? "its location is \(info.location.rawValue)" : "its location is unknown"),
            SettingAim(aims[.deviceID]).settle(
                [.text(info.id)], instead: .text(info.id), lack: "it is unavailable; \(info.id) is used"),
        ].map(\.fit)
    }
}
