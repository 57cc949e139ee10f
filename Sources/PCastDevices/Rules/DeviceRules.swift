/// What hardware cannot tell of itself, and somebody wrote down: where a USB camera looks, how it is mounted, from which
/// directions a microphone hears, what it is to be called, and whether it is to be offered at all.
///
/// `configs/devices.json5` is such a text and describes its form. Rules are about hardware only. All that match a device
/// apply from the first to the last, and what a later one says takes the place of what an earlier one said.
public struct DeviceRules: Hashable, Sendable {
    private var rules: [DeviceRule] = []

    /// No rules.
    public init() {}

    /// Reads JSON5.
    public init(text: String) throws(DeviceRulesError) {
        do { rules = try DeviceRule.all(of: JSON5Reader.read(text)) } catch {
            throw DeviceRulesError(line: error.line, reason: error.reason)
        }
    }

    /// How many there are.
    public var count: Int { rules.count }

    /// Says of a device what is known of it. Only hardware is spoken of.
    public func apply(to device: inout SourceDevice) { for rule in matching(device) { rule.apply(to: &device) } }

    /// Whether a device is not to be offered.
    public func hides(_ device: SourceDevice) -> Bool { matching(device).compactMap(\.isHidden).last ?? false }

    /// The devices that are offered, with all that is known of them.
    public func applied(to devices: [SourceDevice]) -> [SourceDevice] {
        devices.filter { !hides($0) }.map { device in
            var device = device
            apply(to: &device)
            return device
        }
    }

    private func matching(_ device: SourceDevice) -> [DeviceRule] {
        device.info.deviceType == .physical ? rules.filter { $0.pattern.matches(device) } : []
    }
}
