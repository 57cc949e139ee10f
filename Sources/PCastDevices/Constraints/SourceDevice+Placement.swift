extension SourceDevice {
    /// Returns the fitness of the device's unchangeable properties.
    func placed(by aims: CapabilityAims) -> [CapabilityFit] {
        let isFacingKnown = info.facingMode != .undefined && info.facingMode != .automatic
        let isLocationKnown = info.location != .automatic
        return [
            SettingAim(aims[.facingMode]).settle(
                [.facingMode(info.facingMode)], instead: isFacingKnown ? .facingMode(info.facingMode) : nil,
                lack: isFacingKnown ? "it faces the \(info.facingMode.rawValue)" : "nobody knows where it faces"),
            SettingAim(aims[.location]).settle(
                [.location(info.location)], instead: isLocationKnown ? .location(info.location) : nil,
                lack: isLocationKnown ? "it is the \(info.location.rawValue) one" : "nobody knows where it is mounted"),
            SettingAim(aims[.deviceID]).settle(
                [.text(info.id)], instead: .text(info.id), lack: "it is not available; \(info.id) is used"),
        ].map(\.fit)
    }
}
