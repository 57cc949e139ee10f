/// The names that udev gives to devices and to the links under `/dev/v4l` and `/dev/snd`, computed from sysfs. They
/// persist across restarts and do not require udev.
///
/// They follow udev's built-in `usb_id` and `path_id` in systemd 252.
extension SysfsDevice {
    /// The vendor, product and serial number of a USB device (`ID_SERIAL`), without the serial number if it has none;
    /// nil for other devices.
    var usbName: (name: String, hasSerial: Bool)? {
        guard let device = ancestor(subsystem: "usb", type: "usb_device"),
            let vendor = device.attribute("manufacturer") ?? device.attribute("idVendor"),
            let product = device.attribute("product") ?? device.attribute("idProduct")
        else { return nil }
        let name = SysfsText.name(vendor, limit: 63) + "_" + SysfsText.name(product, limit: 63)
        // Serial numbers with other characters are invalid: https://learn.microsoft.com/windows-hardware/drivers/usbcon
        guard let serial = device.attribute("serial").flatMap(SysfsText.serial), !serial.isEmpty else {
            return (name, false)
        }
        return (name + "_" + serial, true)
    }

    /// The path from the CPU to the device (`ID_PATH`), such as `pci-0000:00:14.0-usb-0:1:1.0`; nil if it has no
    /// physical location.
    var pathName: String? {
        var parts: [String] = []
        var isSomewhere = false
        var device: SysfsDevice? = self
        while let current = device {
            var last = current
            switch current.subsystem {
            case "usb":
                if ["usb_interface", "usb_device"].contains(current.type), let dash = current.name.firstIndex(of: "-") {
                    parts.append("usb-0:" + current.name[current.name.index(after: dash)...])
                    last = current.uppermost(of: "usb")
                }
            case let bus? where ["pci", "platform", "amba", "acpi", "xen"].contains(bus):
                parts.append("\(bus)-\(current.name)")
                last = current.uppermost(of: bus)
                isSomewhere = true
            case "virtio": last = current.uppermost(of: "virtio")
            default: break
            }
            device = last.parent
        }
        return isSomewhere ? parts.reversed().joined(separator: "-") : nil
    }

    /// Returns the topmost ancestor on the same bus, without a gap.
    private func uppermost(of subsystem: String) -> SysfsDevice {
        var last = self
        while let parent = last.parent, parent.subsystem == subsystem { last = parent }
        return last
    }
}

/// Text conversions of udev for names.
enum SysfsText {
    /// Replaces whitespace with one underscore, except at the ends, and characters that are unsuitable in file names
    /// with an underscore.
    static func name(_ text: String, limit: Int = 511) -> String {
        let words = String(decoding: text.utf8.prefix(limit), as: UTF8.self).unicodeScalars.split {
            [" ", "\t", "\n", "\u{0B}", "\u{0C}", "\r"].contains($0)
        }
        var result = String.UnicodeScalarView()
        for (index, word) in words.enumerated() {
            if index > 0 { result.append("_") }
            for scalar in word { result.append(isAllowed(scalar) ? scalar : "_") }
        }
        return String(result)
    }

    /// Returns the name of a serial number; nil if it contains invalid characters.
    static func serial(_ text: String) -> String? {
        text.utf8.allSatisfy { (0x20...0x7F).contains($0) && $0 != 0x2C } ? name(text) : nil
    }

    private static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.isASCII else { return true }
        let character = Character(scalar)
        return character.isLetter || character.isNumber || "#+-.:=@_".contains(character)
    }
}
