/// Properties that hardware does not report and an administrator states. Examples are the direction and mounting of a
/// USB camera, the polar pattern of a microphone, the name, and whether the device is offered.
///
/// `configs/devices.json5` is an example and describes the format. Rules apply only to hardware. All rules that match a
/// device apply in order, and later ones override earlier ones.
package struct DeviceRules: Hashable, Sendable {
    private var rules: [DeviceRule] = []

    /// Creates an empty list of rules.
    package init() {}

    /// Parses JSON5. Throws `DeviceRulesError`.
    package init(text: String) throws(DeviceRulesError) {
        do { rules = try DeviceRule.all(of: JSON5Reader.read(text)) } catch {
            throw DeviceRulesError(line: error.line, reason: error.reason)
        }
    }

    /// The number of rules.
    package var count: Int { rules.count }

    /// Applies the matching rules to a device. Only hardware is changed.
    package func apply(to device: inout SourceDevice) { for rule in matching(device) { rule.apply(to: &device) } }

    /// Returns whether a device is hidden.
    package func hides(_ device: SourceDevice) -> Bool { matching(device).compactMap(\.isHidden).last ?? false }

    /// Returns the devices that are not hidden, with the rules applied.
    package func applied(to devices: [SourceDevice]) -> [SourceDevice] {
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
