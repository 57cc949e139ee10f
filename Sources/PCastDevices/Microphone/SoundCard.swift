/// A sound card as sysfs lists it, which everyone may read.
struct SoundCard: Hashable {
    /// What USB hardware says of itself.
    struct USB: Hashable {
        /// Manufacturer, product and serial number, as udev writes them.
        var name: String
        /// Four hexadecimal digits each.
        var vendor: String
        var product: String
        var serial: String?
        /// Where it is plugged in, such as `1-2.4`.
        var port: String
    }

    /// The kernel's number, which may be another after a restart.
    var number: Int
    /// The kernel's identifier, such as `Loopback`: it is made of the card's name, and stays.
    var id: String
    var usb: USB?
    /// The numbers of its PCM devices that capture, ascending.
    var captureDevices: [Int]

    /// Every card that captures, by their numbers.
    ///
    /// - Parameter root: where sysfs is mounted.
    static func all(root: String = "/sys") -> [SoundCard] {
        let names = SysfsDevice.names(subsystem: "sound", root: root)
        return names.compactMap { name in
            guard name.hasPrefix("card"), let number = Int(name.dropFirst(4)),
                let device = SysfsDevice(subsystem: "sound", name: name, root: root),
                let id = device.attribute("id"), !id.isEmpty
            else { return nil }
            let captures = captureDevices(of: number, in: names)
            return captures.isEmpty
                ? nil : SoundCard(number: number, id: id, usb: usb(device), captureDevices: captures)
        }
        .sorted { $0.number < $1.number }
    }

    /// `pcmC0D1c`: device 1 of card 0 captures.
    private static func captureDevices(of number: Int, in names: [String]) -> [Int] {
        let prefix = "pcmC\(number)D"
        return names.compactMap { name in
            name.hasPrefix(prefix) && name.hasSuffix("c") ? Int(name.dropFirst(prefix.count).dropLast()) : nil
        }
        .sorted()
    }

    private static func usb(_ card: SysfsDevice) -> USB? {
        guard let hardware = card.ancestor(subsystem: "usb", type: "usb_device"), let name = card.usbName?.name,
            let vendor = hardware.attribute("idVendor"), let product = hardware.attribute("idProduct")
        else { return nil }
        return USB(
            name: name, vendor: vendor, product: product, serial: hardware.attribute("serial"), port: hardware.name)
    }
}
