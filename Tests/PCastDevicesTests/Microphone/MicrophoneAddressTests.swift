import Foundation
import PCastCore
import Testing

@testable import PCastDevices

/// A folder with the structure of /sys.
private final class FakeSysfs {
    let root = NSTemporaryDirectory() + "sysfs-" + UUID().uuidString

    deinit { try? FileManager.default.removeItem(atPath: root) }

    /// Creates folders of cards. `device` is the path of a card below `devices`, in which each folder is a device.
    init(cards: [(number: Int, id: String, device: String, captures: [Int])]) throws {
        try folder("class/sound")
        for card in cards {
            var path = "devices"
            for part in card.device.split(separator: "/") {
                path += "/\(part)"
                try write("\(path)/uevent", "")
            }
            path += "/sound/card\(card.number)"
            try write("\(path)/uevent", "")
            try write("\(path)/id", card.id + "\n")
            try link("class/sound/card\(card.number)", to: path)
            for device in card.captures {
                try write("\(path)/pcmC\(card.number)D\(device)c/uevent", "")
                try link("class/sound/pcmC\(card.number)D\(device)c", to: "\(path)/pcmC\(card.number)D\(device)c")
            }
            try write("\(path)/pcmC\(card.number)D0p/uevent", "")
            try link("class/sound/pcmC\(card.number)D0p", to: "\(path)/pcmC\(card.number)D0p")
        }
    }

    /// Makes a device a USB device.
    func usb(_ path: String, _ attributes: [String: String]) throws {
        try folder("bus/usb")
        try write("devices/\(path)/uevent", "DEVTYPE=usb_device\n")
        try link("devices/\(path)/subsystem", to: "bus/usb")
        for (name, value) in attributes { try write("devices/\(path)/\(name)", value + "\n") }
    }

    private func folder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: "\(root)/\(path)", withIntermediateDirectories: true)
    }

    private func write(_ path: String, _ text: String) throws {
        try folder(String(path[..<path.lastIndex(of: "/")!]))
        try text.write(toFile: "\(root)/\(path)", atomically: false, encoding: .utf8)
    }

    private func link(_ path: String, to target: String) throws {
        try folder(String(path[..<path.lastIndex(of: "/")!]))
        try FileManager.default.createSymbolicLink(atPath: "\(root)/\(path)", withDestinationPath: "\(root)/\(target)")
    }
}

@Suite("The names of microphones")
struct MicrophoneAddressTests {
    /// Returns a built-in card, one that only plays, and two USB microphones of which one has a serial number.
    private func cards(alike: Bool = false) throws -> [SoundCard] {
        let sysfs = try FakeSysfs(cards: [
            (0, "PCH", "pci0000:00/0000:00:1f.3", [0, 2]),
            (1, "HDMI", "pci0000:00/0000:01:00.1", []),
            (3, "Mini", "pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0", [0]),
            (4, "Webcam", "pci0000:00/0000:00:14.0/usb1/1-4.1/1-4.1:1.2", [0]),
        ])
        try sysfs.usb(
            "pci0000:00/0000:00:14.0/usb1/1-2",
            [
                "idVendor": "0d8c", "idProduct": "0014", "manufacturer": "C-Media Inc.", "product": "USB Mic",
                "serial": "A 1/7",
            ])
        let webcam =
            alike
            ? [
                "idVendor": "0d8c", "idProduct": "0014", "manufacturer": "C-Media Inc.", "product": "USB Mic",
                "serial": "A 1/7",
            ] : ["idVendor": "046d", "idProduct": "0825"]
        try sysfs.usb("pci0000:00/0000:00:14.0/usb1/1-4.1", webcam)
        return withExtendedLifetime(sysfs) { SoundCard.all(root: sysfs.root) }
    }

    private func ids(_ cards: [SoundCard]) -> [String] {
        cards.flatMap { card in
            card.captureDevices.map { MicrophoneAddress.id(of: card, device: $0, among: cards) }
        }
    }

    @Test("cards that capture are found, with the properties of USB hardware")
    func found() throws {
        let cards = try cards()
        try #require(cards.map(\.number) == [0, 3, 4] && cards.map(\.captureDevices) == [[0, 2], [0], [0]])
        #expect(cards[0].usb == nil && cards[0].id == "PCH")
        #expect(
            cards[1].usb
                == SoundCard.USB(
                    name: "C-Media_Inc._USB_Mic_A_1_7", vendor: "0d8c", product: "0014", serial: "A 1/7", port: "1-2"))
        #expect(SoundCard.all(root: "/nowhere").isEmpty)
    }

    @Test("identifiers consist of stable properties, not of the kernel's numbers")
    func identifiers() throws {
        let cards = try cards()
        #expect(
            ids(cards) == [
                "CARD=PCH,DEV=0", "CARD=PCH,DEV=2", "usb-C-Media_Inc._USB_Mic_A_1_7,DEV=0", "usb-046d_0825,DEV=0",
            ])
    }

    @Test("two equal devices differ by their ports, and the first keeps its name")
    func alike() throws {
        let cards = try cards(alike: true)
        let name = "usb-C-Media_Inc._USB_Mic_A_1_7"
        #expect(ids(cards).suffix(2) == ["\(name)@1-2,DEV=0", "\(name)@1-4.1,DEV=0"])
        #expect(MicrophoneAddress.device(named: "\(name)@1-4.1,DEV=0", among: cards)?.card.number == 4)
        #expect(MicrophoneAddress.device(named: "\(name),DEV=0", among: cards)?.card.number == 3)
    }

    @Test("an identifier maps to alsa-lib's name, and a name of alsa-lib stays unchanged")
    func lookup() throws {
        let cards = try cards()
        func address(_ id: String?, hasDefault: Bool = true) throws -> MicrophoneAddress {
            try MicrophoneAddress(id: id, cards: cards, hasDefault: { hasDefault })
        }
        let webcam = try address("usb-046d_0825,DEV=0")
        #expect(webcam.pcmName == "hw:4,0" && webcam.node == "/dev/snd/pcmC4D0c")
        #expect(webcam.description == "microphone:usb-046d_0825,DEV=0")
        #expect(try address("CARD=PCH,DEV=2").pcmName == "hw:0,2")
        #expect(try address("plughw:7").pcmName == "plughw:7")
        #expect(try address(nil).pcmName == "default" && (try address(nil).description == "microphone"))
        // A device that was plugged in is preferred, because this was intentional.
        #expect(try address(nil, hasDefault: false).pcmName == "hw:3,0")
        #expect(throws: DeviceError.notFound("microphone", lookedIn: "/dev/snd")) {
            _ = try MicrophoneAddress(id: nil, cards: [], hasDefault: { false })
        }
    }

    @Test("the list of the USB audio driver is parsed: single rates and ranges, and only for capture")
    func usbStream() {
        let text = """
            C-Media USB Mic at usb-0000:00:14.0-2, full speed : USB Audio

            Playback:
              Status: Stop
              Interface 1
                Altset 1
                Format: S16_LE
                Channels: 8
                Rates: 192000

            Capture:
              Status: Running
                Interface = 2
              Interface 2
                Altset 1
                Format: S16_LE
                Channels: 1
                Endpoint: 0x82 (2 IN) (ASYNC)
                Rates: 44100, 48000
                Bits: 16
              Interface 2
                Altset 2
                Channels: 2
                Rates: 8000 - 32000 (continuous)
            """
        let limits = CaptureLimits(usbStream: text)
        #expect(limits?.rates == [8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000] && limits?.channels == 1...2)
        for broken in [
            "", "Capture:", "Capture:\n Channels: many\n Rates: x", "Capture:\n Channels: 0",
            "Playback:\n Channels: 2\n Rates: 48000",
        ] { #expect(CaptureLimits(usbStream: broken) == nil) }
        #expect(CaptureLimits(usbStream: "Capture:\n Channels: 2\n Rates: 9 - 1 (continuous)")?.rates == [])
    }

    @Test("menus have many names for patterns, and other patterns are ignored")
    func patterns() {
        for name in ["Omnidirectional", "omni", "OMNI-DIRECTIONAL"] {
            #expect(PolarPattern(item: name) == .omnidirectional)
        }
        #expect(PolarPattern(item: "Cardioid") == .cardioid)
        for name in ["Subcardioid", "sub-cardioid", "Wide Cardioid"] {
            #expect(PolarPattern(item: name) == .subcardioid)
        }
        for name in ["Supercardioid", "Hypercardioid", "Bidirectional", "Stereo", "", "Mic"] {
            #expect(PolarPattern(item: name) == nil)
        }
    }
}
