import PCastCore
import Testing

@testable import PCastDevices

@Suite("Rules complete the properties of hardware")
struct DeviceRulesTests {
    private static let webcam: SourceDevice = {
        var device = ConstraintDevices.webcam
        device.info.id = "usb-046d_HD_Pro_Webcam_C920_0001A2B3-video-index0"
        device.identity = DeviceIdentity(
            name: "HD Pro Webcam C920", vendor: "046d", product: "082d", serial: "0001A2B3")
        return device
    }()

    private static let microphone: SourceDevice = {
        var device = ConstraintDevices.mono
        device.identity = DeviceIdentity(name: "Yeti Stereo Microphone", vendor: "B58E", product: "9e84")
        return device
    }()

    private func apply(_ text: String, to device: SourceDevice) throws -> SourceDevice {
        var device = device
        try DeviceRules(text: "rules: [\(text)]").apply(to: &device)
        return device
    }

    @Test("each field of a camera can be set")
    func camera() throws {
        let device = try apply(
            """
            { match: { name: "*C920*" }, facingMode: "user", location: "upper", name: "Desk", rotation: 270 }
            """, to: Self.webcam)
        #expect(device.info.facingMode == .user)
        #expect(device.info.location == .upper)
        #expect(device.info.name == "Desk")
        guard case .video(let capabilities) = device.capabilities, case .video(var before) = Self.webcam.capabilities
        else {
            Issue.record("no camera")
            return
        }
        before.mountRotation = 3
        #expect(capabilities == before)
        #expect(device.info.id == Self.webcam.info.id && device.identity == Self.webcam.identity)
    }

    @Test("each field of a microphone can be set")
    func microphone() throws {
        let device = try apply(
            "{ match: { media: 'audio' }, polarPattern: 'cardioid', location: 'lower' }", to: Self.microphone)
        #expect(device.info.location == .lower)
        guard case .audio(let capabilities) = device.capabilities else {
            Issue.record("no microphone")
            return
        }
        #expect(capabilities.polarPatterns == [.cardioid])
    }

    @Test(
        "a rule applies to the devices that match all of its properties",
        arguments: [
            ("vendor: '046d'", true), ("vendor: '046D'", true), ("vendor: '046e'", false), ("product: '082d'", true),
            ("vendor: '046d', product: '082e'", false), ("serial: '0001a2b3'", true), ("serial: '0001*'", true),
            ("serial: '1*'", false), ("name: 'hd pro webcam c920'", true), ("name: 'HD Pro'", false),
            ("name: '*webcam*'", true), ("name: '*C9?0'", true), ("name: '*C9?'", false), ("media: 'video'", true),
            ("media: 'audio', name: '*'", false), ("id: 'usb-046d_*-video-index0'", true), ("id: 'usb-046d'", false),
        ])
    func matching(_ match: String, _ isMatching: Bool) throws {
        let device = try apply("{ match: { \(match) }, facingMode: 'user' }", to: Self.webcam)
        #expect((device.info.facingMode == .user) == isMatching)
    }

    @Test("a device that is not on USB has no vendor, and an empty serial number is none")
    func anonymous() throws {
        var device = Self.webcam
        device.identity = DeviceIdentity(name: "Built in")
        for match in ["vendor: '046d'", "product: '082d'", "serial: '*'"] {
            #expect(try apply("{ match: { \(match) }, facingMode: 'user' }", to: device) == device)
        }
        // Some drivers use capital letters.
        #expect(try apply("{ match: { vendor: 'b58e' }, location: 'upper' }", to: Self.microphone) != Self.microphone)
    }

    @Test("all matching rules apply, and a later one overrides an earlier one")
    func order() throws {
        let rules = """
            { match: { name: '*' }, facingMode: 'environment', location: 'lower', name: 'Some camera' },
            { match: { serial: '0001A2B3' }, facingMode: 'user' },
            { match: { name: 'Some camera' }, location: 'upper' },
            """
        let device = try apply(rules, to: Self.webcam)
        #expect(device.info.facingMode == .user)
        #expect(device.info.name == "Some camera")
        // Rules match the hardware's name, not the name by another rule.
        #expect(device.info.location == .lower)
    }

    @Test("hidden devices are not listed, and a later rule can show them again")
    func hidden() throws {
        let rules = try DeviceRules(
            text: """
                { rules: [
                    { match: { media: 'video', name: '*' }, hidden: true },
                    { match: { serial: '0001A2B3' }, hidden: false, name: 'Shown' },
                ] }
                """)
        var other = Self.webcam
        other.identity.serial = "9"
        #expect(rules.hides(other))
        #expect(!rules.hides(Self.webcam) && !rules.hides(Self.microphone))
        let offered = rules.applied(to: [other, Self.webcam, Self.microphone, ConstraintDevices.testPattern])
        #expect(offered.map(\.info.name) == ["Shown", "Headset", "Test pattern"])
    }

    @Test("rules apply to hardware only: the test pattern, screens and files are unchanged")
    func others() throws {
        for device in [ConstraintDevices.testPattern, ConstraintDevices.blackFrame] {
            #expect(try apply("{ match: { name: '*' }, hidden: true, name: 'x' }", to: device) == device)
        }
    }

    @Test(
        "no rules change nothing", arguments: ["{}", "{ rules: [] }", "# nothing\nrules:\n", "", "# nothing", "---\n"])
    func none(_ text: String) throws {
        let rules = try DeviceRules(text: text)
        #expect(rules == DeviceRules())
        #expect(rules.count == 0)
        #expect(rules.applied(to: [Self.webcam, Self.microphone]) == [Self.webcam, Self.microphone])
    }

    @Test(
        "an invalid value is an error with its line, its field and the accepted values",
        arguments: [
            ("facingMode: 'front'", "“facingMode” must be one of user, environment"),
            ("facingMode: true", "“facingMode” must be one of"),
            ("facingMode: 'automatic'", "“facingMode” must be one of"),
            ("location: 'top'", "“location” must be one of upper, lower"),
            ("polarPattern: 'eight'", "omnidirectional, cardioid, subcardioid"),
            ("polarPattern: 'cardioid'", "“polarPattern” applies to audio devices"),
            ("name: ''", "must be a text"), ("name: [5]", "must be a text"), ("name: ~", "must be a text"),
            ("rotation: 45", "0, 90, 180 or 270"),
            ("rotation: -90", "0, 90, 180 or 270"), ("rotation: 0.5", "0, 90, 180 or 270"),
            ("rotation: 090", "0, 90, 180 or 270"),
            ("rotation: '90'", "0, 90, 180 or 270"), ("hidden: yes", "“hidden” must be true or false"),
            ("hidden: 'true'", "“hidden” must be true or false"),
            ("facing: 'user'", "use one of match, facingMode, location, polarPattern, name, rotation, hidden"),
        ])
    func wrongValues(_ field: String, _ reason: String) throws {
        let text = "{\n rules: [ {\n match: { media: 'video' },\n \(field),\n } ]\n}"
        let error = try #require(throws: DeviceRulesError.self) { try DeviceRules(text: text) }
        #expect(error.line == 4)
        #expect("\(error)".hasPrefix("line 4: ") && "\(error)".contains(reason), "\(error)")
    }

    @Test(
        "an invalid pattern is an error",
        arguments: [
            ("match: {}", "is empty"), ("match: 'x'", "“match” must be a mapping"),
            ("match: { vendor: '46d' }", "four hexadecimal digits"), ("match: { vendor: 46 }", "four hexadecimal"),
            ("match: { product: 'xyzw' }", "four hexadecimal"), ("match: { product: '+123' }", "four hexadecimal"),
            ("match: { media: 'noise' }", "video, audio"), ("match: { name: '' }", "must be a text"),
            ("match: { model: 'x' }", "use one of media, vendor, product, serial, name, id"),
            ("match: { media: 'audio' }, rotation: 90", "“rotation” applies to video devices"),
            ("facingMode: 'user'", "a rule requires “match”"),
        ])
    func wrongPatterns(_ rule: String, _ reason: String) throws {
        let error = try #require(throws: DeviceRulesError.self) {
            try DeviceRules(text: "{ rules: [\n { \(rule) } ] }")
        }
        #expect(error.line == 2)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test(
        "an invalid file is an error",
        arguments: [
            ("[]", "must be a mapping"), ("{ rules: {} }", "must be a list"), ("{ rule: [] }", "use one of rules"),
            ("{ rules: [ 5 ] }", "a rule must be a mapping"), ("rules: 5", "must be a list"),
            ("{ rules: [ }", "did not find"), ("{ rules: [ { } ] }", "“match”"),
        ])
    func wrongFiles(_ text: String, _ reason: String) throws {
        let error = try #require(throws: DeviceRulesError.self) { try DeviceRules(text: text) }
        #expect(error.line == 1)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test("a star matches anything, any number of them is permitted, and the time is limited")
    func patterns() {
        let long = String(repeating: "a", count: 2_000)
        #expect(!NamePattern(String(repeating: "*a", count: 40) + "*b").matches(long))
        #expect(NamePattern(String(repeating: "*a", count: 40)).matches(long))
        for (pattern, text, isMatching) in [
            ("", "", true), ("", "a", false), ("*", "", true), ("**", "x", true), ("?", "", false), ("?", "é", true),
            ("a*b", "ab", true), ("a*b", "acbb", true), ("a*b", "abc", false), ("*ab", "aab", true),
            ("Ä*", "ära", true),
        ] {
            #expect(NamePattern(pattern).matches(text) == isMatching, "\(pattern) \(text)")
        }
    }
}
