package main

var persons = []*Person{
	{
		ID: ptr("1"), Name: name("mr", "romain", "hoogmoed"), Gender: ptr("male"),
		Location: location("1861 jan pieterszoon coenstraat", "maasdriel", "zeeland", 69217),
		Email:    ptr("romain.hoogmoed@example.com"),
	},
	{
		ID: ptr("2"), Name: name("mademoiselle", "morgane", "lefebvre"), Gender: ptr("female"),
		Location: location("2260 rue de gerland", "vucherens", "graubünden", 2877),
		Email:    ptr("morgane.lefebvre@example.com"), Picture: picture("women/62"),
	},
	{
		ID: ptr("3"), Name: name("ms", "eva", "snyder"), Gender: ptr("female"),
		Location: location("8534 grove road", "mallow", "clare", 18863),
		Email:    ptr("eva.snyder@example.com"), Picture: picture("women/84"),
	},
	{
		ID: ptr("4"), Name: name("monsieur", "elliot", "bertrand"), Gender: ptr("male"),
		Location: location("2557 rue abel", "tolochenaz", "graubünden", 4629),
		Email:    ptr("elliot.bertrand@example.com"), Picture: picture("men/30"),
	},
}

var links = []PersonLink{
	{persons[0], persons[1]},
	{persons[0], persons[2]},
	{persons[1], persons[2]},
	{persons[3], persons[0]},
}

func ptr[T any](value T) *T { return &value }

func name(title, first, last string) *Name {
	return &Name{&title, &first, &last}
}

func location(street, city, state string, postCode int32) *Location {
	return &Location{&street, &city, &state, &postCode}
}

func picture(portrait string) *Picture {
	base := "https://randomuser.me/api/portraits/"
	return &Picture{ptr(base + portrait + ".jpg"), ptr(base + "med/" + portrait + ".jpg"), ptr(base + "thumb/" + portrait + ".jpg")}
}
