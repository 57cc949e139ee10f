import CALSA
import Synchronization

/// The capture controls of a sound card's mixer: settings, the microphone switch, and the polar pattern.
///
/// All operations are best effort: many cards lack these controls, and disconnected ones fail. It is `@unchecked
/// Sendable` because everything is used under the lock.
final class CaptureMixer: @unchecked Sendable {
    /// The mixer; nil after it was released.
    private var mixer: OpaquePointer?
    /// The elements whose switches were off before.
    private var switched: [OpaquePointer] = []
    private let access = Mutex(())

    /// Opens the mixer of a card by its number. Returns nil if it has none or it may not be opened.
    init?(card: Int) {
        calsa_silence()
        var opened: OpaquePointer?
        guard snd_mixer_open(&opened, 0) >= 0, let opened else { return nil }
        guard snd_mixer_attach(opened, "hw:\(card)") >= 0, snd_mixer_selem_register(opened, nil, nil) >= 0,
            snd_mixer_load(opened) >= 0
        else {
            snd_mixer_close(opened)
            return nil
        }
        mixer = opened
    }

    deinit { release() }

    // MARK: Capabilities

    /// The capture controls. ALSA does not report default values, so the current values take their place.
    var controls: [DeviceControl] {
        withElements { elements in elements.flatMap { element in Self.controls(of: element) } }
    }

    /// The polar patterns that a control of the card offers.
    var polarPatterns: Set<PolarPattern> {
        withElements { elements in
            Self.patternElement(among: elements).map { Set(Self.items(of: $0).compactMap(PolarPattern.init(item:))) }
                ?? []
        }
    }

    // MARK: Settings

    /// Selects a polar pattern; `automatic` changes nothing. Returns false if the card does not support it.
    func select(_ pattern: PolarPattern) -> Bool {
        pattern == .automatic
            || withElements { elements in
                guard let element = Self.patternElement(among: elements),
                    let item = Self.items(of: element).firstIndex(where: { PolarPattern(item: $0) == pattern })
                else { return false }
                return snd_mixer_selem_set_enum_item(element, SND_MIXER_SCHN_FRONT_LEFT, UInt32(item)) >= 0
            }
    }

    /// Switches the microphone on if it is off.
    func switchOn() {
        withElements { elements in
            for element in Self.microphoneSwitches(among: elements) where !Self.isOn(element) {
                guard snd_mixer_selem_set_capture_switch_all(element, 1) >= 0 else { continue }
                switched.append(element)
            }
        }
    }

    /// Restores the switches that `switchOn` changed and closes the mixer. Later calls have no effect.
    func release() {
        withElements { _ in
            for element in switched { snd_mixer_selem_set_capture_switch_all(element, 0) }
            switched = []
            if let mixer { snd_mixer_close(mixer) }
            mixer = nil
        }
    }

    // MARK: Elements

    private func withElements<Result>(_ body: ([OpaquePointer]) -> Result) -> Result {
        access.withLock { _ in
            guard let mixer else { return body([]) }
            // Reads changes by other programs.
            snd_mixer_handle_events(mixer)
            var elements: [OpaquePointer] = []
            var next = snd_mixer_first_elem(mixer)
            while let element = next {
                if snd_mixer_selem_is_active(element) != 0 { elements.append(element) }
                next = snd_mixer_elem_next(element)
            }
            return body(elements)
        }
    }

    private static func name(of element: OpaquePointer) -> String {
        let index = snd_mixer_selem_get_index(element)
        let name = String(cString: snd_mixer_selem_get_name(element))
        return index == 0 ? name : "\(name),\(index)"
    }

    private static func controls(of element: OpaquePointer) -> [DeviceControl] {
        let name = name(of: element)
        var controls: [DeviceControl] = []
        if snd_mixer_selem_has_capture_switch(element) != 0 {
            controls.append(DeviceControl(name: "\(name) Capture Switch", kind: .boolean(standard: isOn(element))))
        }
        if let volume = volume(of: element) {
            controls.append(DeviceControl(name: "\(name) Capture Volume", kind: volume))
        }
        let items = items(of: element)
        if !items.isEmpty {
            controls.append(DeviceControl(name: name, kind: .menu(items, standard: item(of: element, among: items))))
        }
        return controls
    }

    private static func volume(of element: OpaquePointer) -> DeviceControl.Kind? {
        var (least, most, now) = (0, 0, 0)
        guard snd_mixer_selem_has_capture_volume(element) != 0,
            snd_mixer_selem_get_capture_volume_range(element, &least, &most) >= 0, least <= most,
            snd_mixer_selem_get_capture_volume(element, SND_MIXER_SCHN_FRONT_LEFT, &now) >= 0
        else { return nil }
        return .integer(range: Int64(least)...Int64(most), step: 1, standard: Int64(now))
    }

    // MARK: Switches

    /// Returns the microphone's switches: that of the converter for all inputs ("Capture"), and those of microphone
    /// inputs. A single switch is assumed to be that of the microphone.
    private static func microphoneSwitches(among elements: [OpaquePointer]) -> [OpaquePointer] {
        let switches = elements.filter { snd_mixer_selem_has_capture_switch($0) != 0 }
        let candidates = switches.filter { element in
            let name = String(cString: snd_mixer_selem_get_name(element))
            return name == "Capture" || name.contains("Mic")
        }
        if candidates.isEmpty { return switches.count == 1 ? switches : [] }
        // Only one of several mutually exclusive inputs is switched on.
        let exclusive = candidates.filter { snd_mixer_selem_has_capture_switch_exclusive($0) != 0 }
        let chosen = exclusive.first(where: isOn) ?? exclusive.first
        return candidates.filter { snd_mixer_selem_has_capture_switch_exclusive($0) == 0 || $0 == chosen }
    }

    private static func isOn(_ element: OpaquePointer) -> Bool {
        var value: Int32 = 0
        return snd_mixer_selem_get_capture_switch(element, SND_MIXER_SCHN_FRONT_LEFT, &value) >= 0 && value != 0
    }

    // MARK: Menus

    private static func patternElement(among elements: [OpaquePointer]) -> OpaquePointer? {
        elements.first { element in items(of: element).contains { PolarPattern(item: $0) != nil } }
    }

    /// Returns the items of a capture menu; empty for other elements.
    private static func items(of element: OpaquePointer) -> [String] {
        guard snd_mixer_selem_is_enumerated(element) != 0,
            snd_mixer_selem_is_enum_capture(element) != 0 || snd_mixer_selem_is_enum_playback(element) == 0
        else { return [] }
        let count = snd_mixer_selem_get_enum_items(element)
        return (0..<max(0, count)).map { index in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
                text.initialize(repeating: 0)
                snd_mixer_selem_get_enum_item_name(element, UInt32(index), text.count - 1, text.baseAddress!)
                return String(cString: text.baseAddress!)
            }
        }
    }

    private static func item(of element: OpaquePointer, among items: [String]) -> Int {
        var item: UInt32 = 0
        guard snd_mixer_selem_get_enum_item(element, SND_MIXER_SCHN_FRONT_LEFT, &item) >= 0 else { return 0 }
        return min(Int(item), items.count - 1)
    }
}

extension PolarPattern {
    /// Creates a pattern from a menu item, such as `Omnidirectional`, `Omni` or `Sub-Cardioid`. Returns nil for other
    /// patterns.
    init?(item: String) {
        let letters = item.lowercased().filter(\.isLetter)
        switch letters {
        case _ where letters.hasPrefix("omni"): self = .omnidirectional
        case "cardioid": self = .cardioid
        case "subcardioid", "widecardioid": self = .subcardioid
        default: return nil
        }
    }
}
