import Foundation
import Testing

@testable import PCastDevices

/// A tree like that of sysfs, of real folders, files and links.
private struct Tree {
    let root: String

    init() throws {
        root = NSTemporaryDirectory() + "sysfs-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    }

    func remove() { try? FileManager.default.removeItem(atPath: root) }

    /// Adds a device below `/sys/devices`.
    func add(_ path: String, bus: String, type: String? = nil, _ attributes: [String: String] = [:]) throws {
        let folder = "\(root)/devices/\(path)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let subsystem = "\(root)/bus/\(bus)"
        try FileManager.default.createDirectory(atPath: subsystem, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(atPath: folder + "/subsystem", withDestinationPath: subsystem)
        var attributes = attributes
        attributes["uevent"] = type.map { "DEVTYPE=\($0)" } ?? "MAJOR=81"
        for (name, text) in attributes {
            try (text + "\n").write(toFile: "\(folder)/\(name)", atomically: false, encoding: .utf8)
        }
    }

    /// Returns a node of a class, such as video0.
    func node(_ path: String, subsystem: String = "video4linux", _ attributes: [String: String]) throws -> SysfsDevice {
        try add(path, bus: subsystem, attributes)
        let name = path.split(separator: "/").last!
        try FileManager.default.createDirectory(
            atPath: "\(root)/class/\(subsystem)", withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(root)/class/\(subsystem)/\(name)", withDestinationPath: "\(root)/devices/\(path)")
        return try #require(SysfsDevice(subsystem: subsystem, name: String(name), root: root))
    }
}

@Suite("Names of devices from sysfs")
struct CameraNamesTests {
    @Test("a USB camera has udev's names")
    func usb() throws {
        let tree = try Tree()
        defer { tree.remove() }
        let host = "pci0000:00/0000:00:14.0"
        try tree.add(host, bus: "pci")
        try tree.add(host + "/usb1", bus: "usb", type: "usb_device", ["product": "xHCI Host Controller"])
        try tree.add(
            host + "/usb1/1-4", bus: "usb", type: "usb_device",
            [
                "manufacturer": "  Some   Vendor, Inc.", "product": "Ünï Cam/2", "serial": "A1B2 C3",
                "idVendor": "046d",
                "idProduct": "082d",
            ])
        try tree.add(host + "/usb1/1-4/1-4:1.0", bus: "usb", type: "usb_interface")
        let node = try tree.node(host + "/usb1/1-4/1-4:1.0/video4linux/video7", ["index": "0", "name": "Cam"])
        #expect(node.usbName?.name == "Some_Vendor__Inc._Ünï_Cam_2_A1B2_C3" && node.usbName?.hasSerial == true)
        #expect(node.pathName == "pci-0000:00:14.0-usb-0:4:1.0")
        #expect(node.attribute("index") == "0" && node.attribute("nothing") == nil)
        #expect(node.subsystem == "video4linux" && node.name == "video7")
        #expect(node.ancestor(subsystem: "usb", type: "usb_device")?.attribute("idVendor") == "046d")
        #expect(SysfsDevice.names(subsystem: "video4linux", root: tree.root) == ["video7"])
    }

    @Test("without its own texts a device is named by its numbers, and an invalid serial number is omitted")
    func numbers() throws {
        let tree = try Tree()
        defer { tree.remove() }
        try tree.add("platform/dummy_hcd.0", bus: "platform")
        try tree.add("platform/dummy_hcd.0/usb1", bus: "usb", type: "usb_device")
        try tree.add(
            "platform/dummy_hcd.0/usb1/1-1", bus: "usb", type: "usb_device",
            ["idVendor": "1d6b", "idProduct": "0102", "serial": "1,2"])
        try tree.add("platform/dummy_hcd.0/usb1/1-1/1-1:1.0", bus: "usb", type: "usb_interface")
        let node = try tree.node("platform/dummy_hcd.0/usb1/1-1/1-1:1.0/video4linux/video0", [:])
        #expect(node.usbName?.name == "1d6b_0102" && node.usbName?.hasSerial == false)
        #expect(node.pathName == "platform-dummy_hcd.0-usb-0:1:1.0")
    }

    @Test("a path through hubs and bridges is complete")
    func ways() throws {
        let tree = try Tree()
        defer { tree.remove() }
        try tree.add("pci0000:00/0000:00:1c.0", bus: "pci")
        try tree.add("pci0000:00/0000:00:1c.0/0000:02:00.0", bus: "pci")
        let usb = "pci0000:00/0000:00:1c.0/0000:02:00.0/usb3"
        for (path, type) in [("", "usb_device"), ("/3-2", "usb_device"), ("/3-2/3-2.1", "usb_device")] {
            try tree.add(usb + path, bus: "usb", type: type)
        }
        try tree.add(usb + "/3-2/3-2.1/3-2.1:1.2", bus: "usb", type: "usb_interface")
        let hub = try tree.node(usb + "/3-2/3-2.1/3-2.1:1.2/video4linux/video1", [:])
        #expect(hub.pathName == "pci-0000:02:00.0-usb-0:2.1:1.2")
        #expect(hub.usbName == nil, "the device has no properties")
        // A card in the machine has the same path for its audio.
        let card = try tree.node(
            "pci0000:00/0000:00:1c.0/0000:02:00.0/sound/card0", subsystem: "sound", ["number": "0"])
        #expect(card.pathName == "pci-0000:02:00.0" && card.usbName == nil)
        // Virtual devices have no parent.
        let virtual = try tree.node("virtual/video4linux/video40", ["index": "0"])
        #expect(virtual.pathName == nil && virtual.usbName == nil && virtual.parent == nil)
        #expect(SysfsDevice(subsystem: "video4linux", name: "video99", root: tree.root) == nil)
        #expect(SysfsDevice(subsystem: "video4linux", name: "video0", root: tree.root + "/nowhere") == nil)
    }

    @Test("each device has its first unique name, and all names are different")
    func unique() {
        let names = [["serial", "place 1", "bus 1"], ["serial", "place 2", "bus 2"], ["other"]]
        #expect(CameraNode.uniqueNames(names) == ["place 1", "place 2", "other"])
        #expect(CameraNode.uniqueNames([["place", "bus 1"], ["place", "bus 2"]]) == ["bus 1", "bus 2"])
        #expect(CameraNode.uniqueNames([["same"], ["same"], ["same"]]) == ["same", "same-2", "same-3"])
        // A camera with the same name twice has it once.
        #expect(CameraNode.uniqueNames([["name", "name"]]) == ["name"])
    }

    @Test("formats have V4L2's names")
    func fourCC() {
        #expect(FourCC("YUYV").code == 0x5659_5559 && FourCC(0x5659_5559).name == "YUYV")
        #expect(FourCC(0x3231_564E).encoding == .nv12 && FourCC(name: "MJPG")?.encoding == .mjpeg)
        #expect(FourCC(0x0000_00FF).name == "????" && FourCC(1 << 31 | 0x2020_3152).name == "R1  -BE")
        #expect(FourCC("UYVY").encoding == .other("UYVY") && CaptureEncoding.other("UYVY").isCapturable)
        for encoding in [CaptureEncoding.other("BGGR"), .other("R1  -BE"), .other(""), .computed] {
            #expect(!encoding.isCapturable)
        }
    }

    @Test("a name that uvcvideo repeats appears once")
    func cards() {
        func name(_ card: String) -> String {
            VideoNodeCapability(driver: "uvcvideo", card: card, bus: "", flags: 0).name
        }
        #expect(name("Webcam: Webcam") == "Webcam" && name("HD Pro Webcam C920: HD Pro Webca") == "HD Pro Webcam C920")
        #expect(name("Integrated: Infrared") == "Integrated: Infrared" && name("vivid") == "vivid")
        #expect(name("Webcam:") == "Webcam:" && name("") == "")
    }
}
